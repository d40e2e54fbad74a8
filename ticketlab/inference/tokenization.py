"""Tokenizes texts in chunks: a tokenizer cannot be interrupted, so time limits take effect between its calls.

Words that occurred before are not tokenized again, where the tokenizer permits that (:mod:`ticketlab.inference.segments`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ticketlab.inference.segments import segments_of

CHARACTERS = 1 << 16
"""The limit for one call, unless a single text is longer: less than a tenth of a second for common tokenizers."""


def rows(tokenizer: Any, texts: Sequence[tuple[str, ...]], max_length: int) -> Iterator[dict[str, list[int]]]:
    """Yield the inputs of each text (or pair), truncated and not padded."""
    segments = segments_of(tokenizer)
    for chunk in _chunks(texts):
        known = None if segments is None else segments.rows(chunk, max_length)
        yield from _whole(tokenizer, chunk, max_length) if known is None else known


def _whole(tokenizer: Any, texts: Sequence[tuple[str, ...]], max_length: int) -> Iterator[dict[str, list[int]]]:
    columns = [list(column) for column in zip(*texts, strict=True)]
    encoded = tokenizer(*columns, truncation=True, max_length=max_length)
    for number in range(len(texts)):
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
