"""A word-level diff of an original and a changed text. The texts may be equal, empty, or differ in their numbers of words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from attrs import frozen

Kind = Literal["same", "removed", "added"]
_WORD = re.compile(r"\S+\s*|\s+")


@frozen
class DiffSegment:
    """A run of words, each with its trailing white space."""

    kind: Kind
    text: str


def word_diff(before: str, after: str) -> list[DiffSegment]:
    """Return the unchanged, removed and added words, in reading order.

    Without the added segments the result is ``before``; without the removed ones it is ``after``, except that unchanged words have the
    white space of ``before``.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    segments: list[DiffSegment] = []
    for same, left, right in _aligned_runs([word.strip() for word in old], [word.strip() for word in new]):
        kinds: tuple[tuple[Kind, Sequence[str]], ...]
        kinds = (("same", old[left]),) if same else (("removed", old[left]), ("added", new[right]))
        for kind, words in kinds:
            if not words:
                continue
            if segments and segments[-1].kind == kind:
                segments[-1] = DiffSegment(kind, segments[-1].text + "".join(words))
            else:
                segments.append(DiffSegment(kind, "".join(words)))
    return segments


def _aligned_runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, slice, slice]]:
    """Yield whether a run is unchanged, and its position in each text; word by word if the numbers of words are equal."""
    if len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            where = slice(index, index + 1)
            yield left == right, where, where
        return
    for tag, left_from, left_to, right_from, right_to in SequenceMatcher(None, old, new).get_opcodes():
        yield tag == "equal", slice(left_from, left_to), slice(right_from, right_to)
