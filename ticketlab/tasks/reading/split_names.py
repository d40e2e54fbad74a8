"""Maps names of files, folders and published splits to train, validation and test."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from attrs import frozen

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import verb
from ticketlab.tasks.reading import file_kinds

SPLIT_OF_STEM = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "validation_matched": "validation",
    "dev_matched": "validation",
    "test": "test",
    "test_matched": "test",
    "dev_and_test": "test",
}
_SPLIT_OF_WORD = {**SPLIT_OF_STEM, "training": "train", "development": "validation", "testing": "test"}
_SHARD = re.compile(r"(?P<stem>.+?)[-_.](?P<number>\d+)(?:-of-(?P<total>\d+))?")
_CACHED_FILE = re.compile(r".+-(?P<split>\w+?)(-\d+-of-\d+)?")
_WORD = re.compile(r"[^a-z0-9]+")


@frozen
class SplitAssignment:
    """The name of each split (``train``, ``validation``, ``test``), whether names were recognised, and the names that are not splits."""

    splits: Mapping[str, str]
    named: bool
    ignored: tuple[str, ...] = ()
    by_words: bool = False
    """Whether the splits follow from words in the names: ``reviews_train``."""


@frozen
class Part:
    """A numbered part of a table that is stored in ``total`` files; numbers begin at 0 or 1."""

    stem: str
    number: int
    total: int


def assign_splits(source: str, names: Sequence[str]) -> SplitAssignment:
    """Assign distinct names to splits. A single name that does not name a split is the training split.

    If no name is that of a split, words in the names are used, provided that they distinguish train from another split.

    :raises DataError: two names refer to the same split, or the splits of several names cannot be identified.
    """
    splits_of = {name: SPLIT_OF_STEM.get(name.lower()) for name in names}
    by_words = not any(splits_of.values())
    if by_words and len(names) == 1:
        return SplitAssignment({"train": names[0]}, named=False)
    if by_words:
        splits_of = {name: split_by_words(name) for name in names}
    if by_words and not ("train" in splits_of.values() and len({*splits_of.values()} - {None}) > 1):
        raise DataError(
            f"{source}: cannot identify the splits of {_list_names(names)}; name them train, validation or dev, and test, or pass one"
        )
    splits: dict[str, str] = {}
    for name, split in splits_of.items():
        if split and splits.setdefault(split, name) != name:
            raise DataError(f"{source}: more than one name for the {split} split: {splits[split]}, {name}; keep one")
    return SplitAssignment(splits, True, tuple(name for name, split in splits_of.items() if not split), by_words)


def split_of_file(file: PurePath) -> str | None:
    """Return the split that a file is named after; None if it is not named after one."""
    name = file_kinds.parse_name(file)
    stem = name.stem.lower()
    cached = _CACHED_FILE.fullmatch(stem) if name.kind == "arrow" else None  # the cache of `datasets` contains imdb-train.arrow
    return SPLIT_OF_STEM.get(stem) or SPLIT_OF_STEM.get(stem_of(file)) or (SPLIT_OF_STEM.get(cached["split"]) if cached else None)


def stem_of(file: PurePath) -> str:
    """Return a file's name without suffix and part number, in lower case."""
    stem = file_kinds.parse_name(file).stem.lower()
    shard = _SHARD.fullmatch(stem)
    return shard["stem"] if shard else stem


def is_part(file: PurePath) -> bool:
    """Return whether a file is one of several parts, according to its name: ``data-00000-of-00002.parquet``."""
    part = part_of(file)
    return part is not None and part.total > 1


def part_of(file: PurePath) -> Part | None:
    """Return which part of a table a file is, if its name contains the number of parts."""
    shard = _SHARD.fullmatch(file_kinds.parse_name(file).stem.lower())
    return Part(shard["stem"], int(shard["number"]), int(shard["total"])) if shard and shard["total"] else None


def check_parts(files: Sequence[PurePath]) -> None:
    """Check that no file is missing that belongs to one of these according to its name, as after an incomplete download.

    :raises DataError: a part is missing, or parts are of different numbers of parts.
    """
    tables: dict[tuple[PurePath, str], dict[int, set[int]]] = {}
    for file in files:
        if part := part_of(file):
            tables.setdefault((file.parent, part.stem), {}).setdefault(part.total, set()).add(part.number)
    for (folder, stem), numbers_by_total in tables.items():
        if len(numbers_by_total) > 1:
            totals = " and ".join(map(str, sorted(numbers_by_total)))
            raise DataError(f"{folder}: some parts of `{stem}` are of {totals} parts; keep the files of one division")
        ((total, numbers),) = numbers_by_total.items()
        first = int(0 not in numbers and total in numbers)
        wanted = range(first, first + total)
        if missing := total - sum(number in wanted for number in numbers):
            lost = next(number for number in wanted if number not in numbers)
            raise DataError(
                f"{folder}: {missing} of the {total} parts of `{stem}` {verb(missing)} missing, the first is number {lost}; copy or "
                "download all of them"
            )


def split_by_words(name: str) -> str | None:
    """Return the split named by a word of a name: ``reviews_train`` is ``train``. None if there is none, or more than one."""
    words = _WORD.split(name.lower())
    splits = {_SPLIT_OF_WORD[word] for word in words if word in _SPLIT_OF_WORD}
    return splits.pop() if len(splits) == 1 and "mismatched" not in words else None  # MultiNLI's second development set


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
