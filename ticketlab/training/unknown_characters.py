"""Count the characters in unknown tokens. A token may be one letter, or a whole sentence in a script without spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen


@frozen
class Characters:
    """Numbers of characters without white space: ``seen`` after truncation, of which ``unknown`` are in unknown tokens."""

    seen: int = 0
    unknown: int = 0


def count(rows: Iterable[tuple[Sequence[str], Any]], unknown: int | None, cut: frozenset[int] = frozenset()) -> Characters:
    """Count over the texts of each row and its encoding, which has the offsets of each token.

    The rows whose indices are in ``cut`` are counted up to their last tokens. ``unknown`` is the id of the unknown token.
    """
    seen = in_unknown = 0
    for index, (texts, encoding) in enumerate(rows):
        ids = encoding.ids
        if index in cut or unknown in ids:  # reading the offsets is the slowest part
            spans = [(token, part, *span) for token, part, span in zip(ids, encoding.sequence_ids, encoding.offsets, strict=True)]
            in_unknown += sum(_length(texts[part][start:end]) for token, part, start, end in spans if token == unknown and part is not None)
            if index in cut:
                ends = {part: end for _, part, _, end in spans}
                texts = [text[: ends.get(part, 0)] for part, text in enumerate(texts)]
        seen += sum(map(_length, texts))
    return Characters(seen, in_unknown)


def _length(text: str) -> int:
    return len("".join(text.split()))
