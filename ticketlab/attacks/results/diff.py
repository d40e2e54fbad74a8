"""A word-level diff of an original and a changed text. The texts may be equal, empty, or differ in their numbers of words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

from attrs import frozen

from ticketlab.attacks.results.record import Record

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


def text_diffs(header: Mapping[str, Any], record: Record) -> list[tuple[str, list[DiffSegment]]]:
    """Return the name and the diff of each text of a record; one diff of all its texts if their number changed.

    The names are the columns in the ``header`` of the file of records if it has them, otherwise ``text``, or ``text 1`` and so on.
    """
    after = record.perturbed or record.original
    if len(after) == len(record.original):
        diffs = [word_diff(old, new) for old, new in zip(record.original, after, strict=True)]
    else:
        diffs = [word_diff(" ".join(record.original), " ".join(after))]
    named = header.get("columns")
    if isinstance(named, list) and len(named) == len(diffs):
        names = [str(name) for name in named]
    else:
        names = ["text"] if len(diffs) == 1 else [f"text {index + 1}" for index in range(len(diffs))]
    return list(zip(names, diffs, strict=True))


def _aligned_runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, slice, slice]]:
    """Yield whether a run is unchanged, and its position in each text; word by word if the numbers of words are equal."""
    if len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            where = slice(index, index + 1)
            yield left == right, where, where
        return
    for tag, left_from, left_to, right_from, right_to in SequenceMatcher(None, old, new).get_opcodes():
        yield tag == "equal", slice(left_from, left_to), slice(right_from, right_to)
