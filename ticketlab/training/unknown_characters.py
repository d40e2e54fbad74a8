"""How many characters of the texts are unknown: a token may be one letter, or a sentence in a script that has no spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen


@frozen
class Characters:
    """Characters that are no white space: ``seen`` is all that was not cut off, ``unknown`` what unknown tokens stand for."""

    seen: int = 0
    unknown: int = 0


def count(rows: Iterable[tuple[Sequence[str], Any]], unknown: int | None, cut: frozenset[int] = frozenset()) -> Characters:
    """Count over the texts of each row and its encoding, which says of each token where in its text it stands.

    Rows at the places ``cut`` are counted as far as their last tokens. ``unknown`` is the id of the token for what the vocabulary lacks.
    """
    seen = lost = 0
    for place, (texts, encoding) in enumerate(rows):
        ids = encoding.ids
        if place in cut or unknown in ids:  # to ask for the places of tokens costs more than all else here
            spans = [(token, part, *span) for token, part, span in zip(ids, encoding.sequence_ids, encoding.offsets, strict=True)]
            lost += sum(_length(texts[part][start:end]) for token, part, start, end in spans if token == unknown and part is not None)
            if place in cut:
                ends = {part: end for _, part, _, end in spans}
                texts = [text[: ends.get(part, 0)] for part, text in enumerate(texts)]
        seen += sum(map(_length, texts))
    return Characters(seen, lost)


def _length(text: str) -> int:
    return len("".join(text.split()))
