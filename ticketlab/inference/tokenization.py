"""Texts as a model's inputs, some at a time: a tokenizer cannot be interrupted, and a limit on time is kept between its calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

CHARACTERS = 1 << 16
"""Of one call at most, unless a single text has more: less than a tenth of a second for usual tokenizers."""


def rows(tokenizer: Any, texts: Sequence[tuple[str, ...]], max_length: int) -> Iterator[dict[str, list[int]]]:
    """Yield the inputs of each text (or pair), truncated and not padded."""
    for some in _portions(texts):
        columns = [list(column) for column in zip(*some, strict=True)]
        encoded = tokenizer(*columns, truncation=True, max_length=max_length)
        for number in range(len(some)):
            yield {name: encoded[name][number] for name in encoded}


def _portions(texts: Sequence[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    some: list[tuple[str, ...]] = []
    characters = 0
    for text in texts:
        size = sum(map(len, text))
        if some and characters + size > CHARACTERS:
            yield some
            some, characters = [], 0
        some.append(text)
        characters += size
    if some:
        yield some
