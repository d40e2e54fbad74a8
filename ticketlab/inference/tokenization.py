"""Tokenizes texts in chunks: a tokenizer cannot be interrupted, so time limits take effect between its calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

CHARACTERS = 1 << 16
"""The limit for one call, unless a single text is longer: less than a tenth of a second for common tokenizers."""


def rows(tokenizer: Any, texts: Sequence[tuple[str, ...]], max_length: int) -> Iterator[dict[str, list[int]]]:
    """Yield the inputs of each text (or pair), truncated and not padded."""
    for chunk in _chunks(texts):
        columns = [list(column) for column in zip(*chunk, strict=True)]
        encoded = tokenizer(*columns, truncation=True, max_length=max_length)
        for number in range(len(chunk)):
            yield {name: encoded[name][number] for name in encoded}


def _chunks(texts: Sequence[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    chunk: list[tuple[str, ...]] = []
    characters = 0
    for text in texts:
        size = sum(map(len, text))
        if chunk and characters + size > CHARACTERS:
            yield chunk
            chunk, characters = [], 0
        chunk.append(text)
        characters += size
    if chunk:
        yield chunk
