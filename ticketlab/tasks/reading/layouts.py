"""Recognises folder layouts: files or subfolders named after splits, folders saved by the ``datasets`` library, and hub snapshots."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading import dataset_cards, file_kinds, json_rows
from ticketlab.tasks.reading.split_names import SplitAssignment, assign_splits, is_part, split_of_file, stem_of

STATE = "state.json"
DICT = "dataset_dict.json"
_METADATA_FILES = ("dataset_info.json", "dataset_infos.json")
_CACHE_FILES = re.compile(r"(cache|tmp)-?[0-9a-z_]+\.arrow")
"""Written by the ``datasets`` library next to its files: metadata, and caches of ``map``."""
_MAX_DEPTH = 6
_SAVE_AGAIN = "save the data set again with save_to_disk"


@frozen
class SplitFiles:
    """The files of each split (``train``, ``validation``, ``test``), in order.

    ``named`` is whether the splits follow from the names; otherwise there is a single split, ``train``. ``notices`` list ignored files.
    """

    splits: Mapping[str, Sequence[Path]]
    named: bool
    notices: tuple[str, ...] = ()

    def with_default_split(self, split: str) -> SplitFiles:
        """Return the files as this split if their names do not contain one."""
        return self if self.named else evolve(self, splits={split: next(iter(self.splits.values()))})


def find_splits(folder: Path, *, prose: bool, depth: int = 0) -> SplitFiles:
    """Return the files of a folder by split.

    :raises DataError: there are no supported files, or the splits cannot be identified.
    """
    if (folder / DICT).is_file():
        return _saved_splits(folder)
    if (folder / STATE).is_file():
        return SplitFiles({split_of_file(folder) or "train": _saved(folder)}, named=bool(split_of_file(folder)))
    if (folder / "snapshots").is_dir() and (folder / "refs").is_dir():
        return find_splits(_snapshot(folder), prose=prose, depth=depth + 1)
    files, folders = _entries(folder)
    own = [file for file in files if file_kinds.is_supported(file, prose=prose)]
    own = own or [file for file in files if file_kinds.is_supported(file, prose=True) and split_of_file(file)]
    if own:
        return _splits_by_file_names(folder, own)
    return _splits_by_folder_names(folder, folders, files, prose=prose, depth=depth)


def _entries(folder: Path) -> tuple[list[Path], list[Path]]:
    try:
        visible = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "__MACOSX")))
    except OSError as problem:
        raise DataError(f"{folder}: cannot be read: {problem.strerror}") from None
    files = [entry for entry in visible if entry.is_file() and entry.name not in _METADATA_FILES and not _CACHE_FILES.match(entry.name)]
    return files, [entry for entry in visible if entry.is_dir()]


def _splits_by_file_names(folder: Path, files: Sequence[Path]) -> SplitFiles:
    named = {file: split for file in files if (split := split_of_file(file))}
    if named:
        splits: dict[str, list[Path]] = {}
        for file, split in named.items():
            splits.setdefault(split, []).append(file)
        for split, parts in splits.items():
            _check_one_file_or_shards(folder, split, parts)
        others = [file.name for file in files if file not in named]
        return SplitFiles(splits, True, _skipped_notice(others))
    if (card := dataset_cards.splits(folder)) is not None:
        return SplitFiles(card, True)
    stems: dict[str, list[Path]] = {}
    for file in files:
        stems.setdefault(stem_of(file) if is_part(file) else file.name, []).append(file)
    assigned = assign_splits(str(folder), list(stems))
    return SplitFiles({split: stems[name] for split, name in assigned.splits.items()}, assigned.named, _notices(assigned))


def _splits_by_folder_names(folder: Path, folders: Sequence[Path], files: Sequence[Path], *, prose: bool, depth: int) -> SplitFiles:
    splits = [sub for sub in folders if split_of_file(sub)]
    if splits:
        assigned = assign_splits(str(folder), [sub.name for sub in splits])
        found = {split: _files_of_split(folder / name, prose=prose) for split, name in assigned.splits.items()}
        return SplitFiles(found, True, _skipped_notice([sub.name for sub in folders if sub not in splits]))
    if (card := dataset_cards.splits(folder)) is not None:
        return SplitFiles(card, True)
    inner = [sub for sub in folders if sub.name == "data"] or folders
    if len(inner) == 1 and depth < _MAX_DEPTH:
        return find_splits(inner[0], prose=prose, depth=depth + 1)
    if inner:
        raise DataError(f"{folder}: it contains folders, none of them named after a split: {_list_names(inner)}; pass one of them")
    foreign = next((f"; {file.name} is {advice}" for file in files if (advice := file_kinds.advice_for(file))), "")
    suffixes = file_kinds.TEXT_SUFFIXES if prose else file_kinds.SUFFIXES
    raise DataError(f"{folder}: there is no {', '.join(suffixes)} file in this folder{foreign}")


def _files_of_split(folder: Path, *, prose: bool) -> Sequence[Path]:
    """Return the files of a folder that forms one split."""
    if (folder / STATE).is_file():
        return _saved(folder)
    files, folders = _entries(folder)
    own = [file for file in files if file_kinds.is_supported(file, prose=prose)]
    if not own and folders:
        raise DataError(
            f"{folder}: it contains folders ({_list_names(folders)}) and no table; if each is a class with a text per file, as in aclImdb, "
            "write a csv with columns text and label"
        )
    if len({file_kinds.parse_name(file).suffix for file in own}) != 1:
        what = "there are files of several kinds" if own else "there is no supported file"
        raise DataError(f"{folder}: {what} in this folder; keep files of one kind")
    return own


def _saved_splits(folder: Path) -> SplitFiles:
    names = _json(folder / DICT).get("splits")
    if not isinstance(names, list) or not names or not all(_is_plain_name(name) for name in names):
        raise DataError(f"{folder / DICT}: `splits` must be a list of names; {_SAVE_AGAIN}")
    assigned = assign_splits(str(folder), names)
    return SplitFiles({split: _saved(folder / name) for split, name in assigned.splits.items()}, assigned.named, _notices(assigned))


def _saved(folder: Path) -> Sequence[Path]:
    """Return the files of a folder written by ``Dataset.save_to_disk``, as listed in its state file."""
    state = _json(folder / STATE)
    listed = state.get("_data_files")
    names = [entry.get("filename") if isinstance(entry, dict) else None for entry in listed] if isinstance(listed, list) else []
    if not names or not all(_is_plain_name(name) for name in names):
        raise DataError(f"{folder / STATE}: `_data_files` must be a list of files; {_SAVE_AGAIN}")
    if state.get("_indices_data_files"):
        raise DataError(f"{folder}: written by an old version of datasets, with a separate row order; {_SAVE_AGAIN} of a newer version")
    for name in names:
        if not (folder / str(name)).is_file():
            raise DataError(f"{folder}: {name} is missing, although {STATE} lists it; copy the whole folder, or {_SAVE_AGAIN}")
    return [folder / str(name) for name in names]


def _json(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except OSError as problem:
        raise DataError(f"{file}: cannot be read: {problem.strerror}; {_SAVE_AGAIN}") from None
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{file}: malformed: {json_rows.describe_json_error(problem)}; {_SAVE_AGAIN}") from None
    if not isinstance(found, dict):
        raise DataError(f"{file}: must be a JSON object, not {type(found).__name__}; {_SAVE_AGAIN}")
    return found


def _is_plain_name(name: Any) -> bool:
    """Return whether a value is the name of an entry of its own folder."""
    return isinstance(name, str) and name not in ("", ".", "..") and Path(name).name == name


def _snapshot(folder: Path) -> Path:
    """Return the current snapshot of a data set in the cache of huggingface_hub."""
    main = folder / "refs" / "main"
    named = folder / "snapshots" / main.read_text(encoding="utf-8", errors="replace").strip() if main.is_file() else folder
    snapshots = [named] if named != folder and named.is_dir() else sorted((folder / "snapshots").iterdir())
    if len(snapshots) != 1:
        raise DataError(f"{folder}: its `snapshots` contain {len(snapshots)} versions; pass the folder of one")
    return snapshots[0]


def _check_one_file_or_shards(folder: Path, split: str, parts: Sequence[Path]) -> None:
    whole = {file: stem_of(file) == file_kinds.parse_name(file).stem.lower() for file in parts}
    if len({(file.name if whole[file] else stem_of(file), file_kinds.parse_name(file).suffix) for file in parts}) > 1:
        raise DataError(f"{folder}: more than one file for the {split} split: {', '.join(file.name for file in parts)}; keep one")


def _notices(assigned: SplitAssignment) -> tuple[str, ...]:
    splits = ", ".join(f"{name} as {split}" for split, name in assigned.splits.items())
    by_words = (f"splits identified by words in their names: {splits}",) if assigned.by_words else ()
    return (*by_words, *_skipped_notice(assigned.ignored))


def _skipped_notice(names: Iterable[str]) -> tuple[str, ...]:
    listed = ", ".join(names)
    return (f"not read, because their names contain no split: {listed}",) if listed else ()


def _list_names(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths[:6]) + (f" and {len(paths) - 6} more" if len(paths) > 6 else "")
