"""Finds the files of a local data set and the split that each belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ticketlab.errors import DataError, did_you_mean

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
TEXT_SUFFIXES = (*SUFFIXES, ".txt")
"""Of text without labels."""
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
_SHARD = re.compile(r"(?P<stem>.+?)[-_.](?P<number>\d+)(-of-\d+)?")


def find(path: Path, suffixes: Sequence[str] = SUFFIXES) -> Mapping[str, Sequence[Path]]:
    """Return the files of each split (``train``, ``validation``, ``test``), in order.

    A file that says no split counts as ``train``. Shards (``train-00000-of-00002.parquet``) belong together.

    :raises DataError: nothing there, nothing readable there, or two files for one split.
    """
    if path.is_file():
        _readable(path, suffixes)
        return {split_of(path) or "train": [path]}
    if not path.is_dir():
        raise DataError(f"{path}: there is no such file or folder{_neighbour(path)}")
    files = sorted(file for file in path.iterdir() if file.is_file() and file.suffix.lower() in suffixes and not file.name.startswith("."))
    if not files:
        raise DataError(f"{path}: there is no {', '.join(suffixes)} file in this folder")
    named = [file for file in files if split_of(file)]
    if not named and len(files) > 1:
        names = ", ".join(file.name for file in files[:6])
        raise DataError(f"{path}: cannot tell the splits of {names}; name the files train, validation (or dev) and test, or pass one file")
    splits: dict[str, list[Path]] = {}
    for file in named or files:
        splits.setdefault(split_of(file) or "train", []).append(file)
    for split, parts in splits.items():
        _one_or_shards(path, split, parts)
    return splits


def split_of(file: Path) -> str | None:
    """Return the split that a file's name says, if it does."""
    stem = file.stem.lower()
    shard = _SHARD.fullmatch(stem)
    return SPLIT_OF_STEM.get(stem) or (SPLIT_OF_STEM.get(shard["stem"]) if shard else None)


def says_no_split(found: Mapping[str, Sequence[Path]]) -> bool:
    """Say whether the files are of one split and do not say of which."""
    return len(found) == 1 and not any(split_of(file) for parts in found.values() for file in parts)


def title(path: Path) -> str:
    """Return the name of a data set: its folder's, or its file's if that says more than the split."""
    path = path.absolute()
    if path.suffix.lower() in SUFFIXES and not path.is_dir():
        return path.parent.name if split_of(path) and path.parent.name else path.stem
    return path.resolve().name or str(path)


def _readable(file: Path, suffixes: Sequence[str]) -> None:
    if file.suffix.lower() not in suffixes:
        raise DataError(f"{file}: not a kind of file that can be read; convert it to one of {', '.join(suffixes)}")


def _one_or_shards(folder: Path, split: str, parts: Sequence[Path]) -> None:
    shards = {(file.suffix, match["stem"]) if (match := _SHARD.fullmatch(file.stem)) else (file.name, "") for file in parts}
    if len(shards) > 1:
        raise DataError(f"{folder}: more than one file for the {split} split: {', '.join(file.name for file in parts)}; leave one there")


def _neighbour(path: Path) -> str:
    parent = path.parent
    names = [file.name for file in parent.iterdir() if not file.name.startswith(".")] if parent.is_dir() else []
    hint = did_you_mean(path.name, names)
    return hint if "did you mean" in hint else ""
