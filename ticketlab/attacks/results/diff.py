"""Which words of a text an attack changed, as pieces to show. Takes any two texts: of other numbers of words, empty, or the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from attrs import frozen

Kind = Literal["same", "removed", "added"]
_WORD = re.compile(r"\S+\s*|\s+")


@frozen
class Segment:
    """A stretch of words, with the white space after each."""

    kind: Kind
    text: str


def pieces(before: str, after: str) -> list[Segment]:
    """Return what stayed, what was removed and what was added, in the order of reading.

    Without what was added the pieces are ``before``; without what was removed they are ``after``, but that words which stayed have the
    white space of ``before``.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    found: list[Segment] = []
    for same, left, right in _stretches([word.strip() for word in old], [word.strip() for word in new]):
        kinds: tuple[tuple[Kind, Sequence[str]], ...]
        kinds = (("same", old[left]),) if same else (("removed", old[left]), ("added", new[right]))
        for kind, words in kinds:
            if not words:
                continue
            if found and found[-1].kind == kind:
                found[-1] = Segment(kind, found[-1].text + "".join(words))
            else:
                found.append(Segment(kind, "".join(words)))
    return found


def _stretches(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, slice, slice]]:
    """Yield whether a stretch is the same, and where it is in each; word by word where there are equally many."""
    if len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            where = slice(index, index + 1)
            yield left == right, where, where
        return
    for tag, left_from, left_to, right_from, right_to in SequenceMatcher(None, old, new).get_opcodes():
        yield tag == "equal", slice(left_from, left_to), slice(right_from, right_to)
