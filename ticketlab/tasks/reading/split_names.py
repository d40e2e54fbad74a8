"""Which split a name means: of a file, a folder, or a split of a data set that others publish."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from attrs import frozen

from ticketlab.core.errors import DataError
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
_SHARD = re.compile(r"(?P<stem>.+?)[-_.](?P<number>\d+)(?P<of>-of-\d+)?")
_OF_A_CACHE = re.compile(r".+-(?P<split>\w+?)(-\d+-of-\d+)?")
_WORD = re.compile(r"[^a-z0-9]+")


@frozen
class Assigned:
    """Which name is which split (``train``, ``validation``, ``test``); whether the names say so; and the names that are none."""

    splits: Mapping[str, str]
    named: bool
    left_out: tuple[str, ...] = ()
    by_words: bool = False
    """Whether a part of a name says the split: ``reviews_train``."""


def assign(source: str, names: Sequence[str]) -> Assigned:
    """Say which of the names, all different, are splits. A single name that says none is the training split.

    Where none is the name of a split, words in them count, if they tell training from another split.

    :raises DataError: two say the same, or several say none.
    """
    said = {name: SPLIT_OF_STEM.get(name.lower()) for name in names}
    by_words = not any(said.values())
    if by_words and len(names) == 1:
        return Assigned({"train": names[0]}, named=False)
    if by_words:
        said = {name: split_by_words(name) for name in names}
    if by_words and not ("train" in said.values() and len({*said.values()} - {None}) > 1):
        raise DataError(f"{source}: cannot tell the splits of {_some(names)}; name them train, validation or dev, and test, or pass one")
    splits: dict[str, str] = {}
    for name, split in said.items():
        if split and splits.setdefault(split, name) != name:
            raise DataError(f"{source}: more than one for the {split} split: {splits[split]}, {name}; leave one there")
    return Assigned(splits, True, tuple(name for name, split in said.items() if not split), by_words)


def split_of(file: PurePath) -> str | None:
    """Return the split that a file's name says, if it does."""
    name = file_kinds.parts(file)
    stem = name.stem.lower()
    cached = _OF_A_CACHE.fullmatch(stem) if name.kind == "arrow" else None  # the cache of `datasets` has imdb-train.arrow
    return SPLIT_OF_STEM.get(stem) or SPLIT_OF_STEM.get(stem_of(file)) or (SPLIT_OF_STEM.get(cached["split"]) if cached else None)


def stem_of(file: PurePath) -> str:
    """Return a file's name without its suffix and without the number of a part, in lower case."""
    stem = file_kinds.parts(file).stem.lower()
    shard = _SHARD.fullmatch(stem)
    return shard["stem"] if shard else stem


def is_part(file: PurePath) -> bool:
    """Say whether a file is one of several, by its name: ``data-00000-of-00002.parquet``."""
    shard = _SHARD.fullmatch(file_kinds.parts(file).stem.lower())
    return bool(shard and shard["of"] and int(shard["of"].removeprefix("-of-")) > 1)


def split_by_words(name: str) -> str | None:
    """Return the split that a word in a name says: ``reviews_train`` is ``train``; None where none does, or several."""
    words = _WORD.split(name.lower())
    said = {_SPLIT_OF_WORD[word] for word in words if word in _SPLIT_OF_WORD}
    return said.pop() if len(said) == 1 and "mismatched" not in words else None  # MultiNLI's second development set


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
