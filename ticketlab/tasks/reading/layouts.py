"""Folders that hold a data set: files named by their splits, folders of these, and what the ``datasets`` library and the hub leave."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading import dataset_cards, file_kinds, json_rows
from ticketlab.tasks.reading.split_names import Assigned, assign, is_part, split_of, stem_of

STATE = "state.json"
DICT = "dataset_dict.json"
_OF_DATASETS = ("dataset_info.json", "dataset_infos.json")
_OF_MAPS = re.compile(r"(cache|tmp)-?[0-9a-z_]+\.arrow")
"""What `datasets` leaves beside its files: what it knows of them, and what it computed from them."""
_DEEPEST = 6
_AGAIN = "save the data set again with save_to_disk"


@frozen
class Found:
    """The files of each split (``train``, ``validation``, ``test``), in order.

    ``named`` tells whether their names say the split; else there is one, and it is called ``train``. ``notices`` say what was left out.
    """

    splits: Mapping[str, Sequence[Path]]
    named: bool
    notices: tuple[str, ...] = ()

    def otherwise(self, split: str) -> Found:
        """Return the files under this split if their names say none."""
        return self if self.named else evolve(self, splits={split: next(iter(self.splits.values()))})


def arrange(folder: Path, *, prose: bool, depth: int = 0) -> Found:
    """Return the files of a folder by split.

    :raises DataError: there is nothing that is read, or the splits cannot be told.
    """
    if (folder / DICT).is_file():
        return _saved_splits(folder)
    if (folder / STATE).is_file():
        return Found({split_of(folder) or "train": _saved(folder)}, named=bool(split_of(folder)))
    if (folder / "snapshots").is_dir() and (folder / "refs").is_dir():
        return arrange(_snapshot(folder), prose=prose, depth=depth + 1)
    files, folders = _entries(folder)
    own = [file for file in files if file_kinds.is_read(file, prose=prose)]
    own = own or [file for file in files if file_kinds.is_read(file, prose=True) and split_of(file)]
    if own:
        return _by_files(folder, own)
    return _by_folders(folder, folders, files, prose=prose, depth=depth)


def _entries(folder: Path) -> tuple[list[Path], list[Path]]:
    try:
        visible = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "__MACOSX")))
    except OSError as problem:
        raise DataError(f"{folder}: cannot be read: {problem.strerror}") from None
    files = [entry for entry in visible if entry.is_file() and entry.name not in _OF_DATASETS and not _OF_MAPS.match(entry.name)]
    return files, [entry for entry in visible if entry.is_dir()]


def _by_files(folder: Path, files: Sequence[Path]) -> Found:
    said = {file: split for file in files if (split := split_of(file))}
    if said:
        splits: dict[str, list[Path]] = {}
        for file, split in said.items():
            splits.setdefault(split, []).append(file)
        for split, parts in splits.items():
            _one_or_shards(folder, split, parts)
        others = [file.name for file in files if file not in said]
        return Found(splits, True, _left_out(others))
    if (card := dataset_cards.splits(folder)) is not None:
        return Found(card, True)
    stems: dict[str, list[Path]] = {}
    for file in files:
        stems.setdefault(stem_of(file) if is_part(file) else file.name, []).append(file)
    assigned = assign(str(folder), list(stems))
    return Found({split: stems[name] for split, name in assigned.splits.items()}, assigned.named, _said(assigned))


def _by_folders(folder: Path, folders: Sequence[Path], files: Sequence[Path], *, prose: bool, depth: int) -> Found:
    splits = [sub for sub in folders if split_of(sub)]
    if splits:
        assigned = assign(str(folder), [sub.name for sub in splits])
        found = {split: _all_of(folder / name, prose=prose) for split, name in assigned.splits.items()}
        return Found(found, True, _left_out([sub.name for sub in folders if sub not in splits]))
    if (card := dataset_cards.splits(folder)) is not None:
        return Found(card, True)
    inner = [sub for sub in folders if sub.name == "data"] or folders
    if len(inner) == 1 and depth < _DEEPEST:
        return arrange(inner[0], prose=prose, depth=depth + 1)
    if inner:
        raise DataError(f"{folder}: it holds folders, none of them named by a split: {_listed(inner)}; pass the one that is meant")
    foreign = next((f"; {file.name} is {advice}" for file in files if (advice := file_kinds.advice(file))), "")
    suffixes = file_kinds.TEXT_SUFFIXES if prose else file_kinds.SUFFIXES
    raise DataError(f"{folder}: there is no {', '.join(suffixes)} file in this folder{foreign}")


def _all_of(folder: Path, *, prose: bool) -> Sequence[Path]:
    """Return the files of a folder that is one split."""
    if (folder / STATE).is_file():
        return _saved(folder)
    files, folders = _entries(folder)
    own = [file for file in files if file_kinds.is_read(file, prose=prose)]
    if not own and folders:
        raise DataError(
            f"{folder}: it holds folders ({_listed(folders)}) and no table; where each is a class with a text a file, as in aclImdb, "
            "write a csv with columns text and label"
        )
    if len({file_kinds.parts(file).suffix for file in own}) != 1:
        what = "there are files of several kinds" if own else "there is no file that is read"
        raise DataError(f"{folder}: {what} in this folder; leave those of one kind there")
    return own


def _saved_splits(folder: Path) -> Found:
    names = _json(folder / DICT).get("splits")
    if not isinstance(names, list) or not names or not all(_is_plain(name) for name in names):
        raise DataError(f"{folder / DICT}: `splits` must be a list of names; {_AGAIN}")
    assigned = assign(str(folder), names)
    return Found({split: _saved(folder / name) for split, name in assigned.splits.items()}, assigned.named, _said(assigned))


def _saved(folder: Path) -> Sequence[Path]:
    """Return the files of a ``Dataset.save_to_disk``, as it says itself."""
    state = _json(folder / STATE)
    listed = state.get("_data_files")
    names = [entry.get("filename") if isinstance(entry, dict) else None for entry in listed] if isinstance(listed, list) else []
    if not names or not all(_is_plain(name) for name in names):
        raise DataError(f"{folder / STATE}: `_data_files` must be a list of files; {_AGAIN}")
    if state.get("_indices_data_files"):
        raise DataError(f"{folder}: written by an old version of datasets, with the order of its rows apart; {_AGAIN} of a later version")
    for name in names:
        if not (folder / str(name)).is_file():
            raise DataError(f"{folder}: {name} is missing, which {STATE} lists; copy the whole folder, or {_AGAIN}")
    return [folder / str(name) for name in names]


def _json(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except OSError as problem:
        raise DataError(f"{file}: cannot be read: {problem.strerror}; {_AGAIN}") from None
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{file}: malformed: {json_rows.complaint(problem)}; {_AGAIN}") from None
    if not isinstance(found, dict):
        raise DataError(f"{file}: must be a JSON object, not {type(found).__name__}; {_AGAIN}")
    return found


def _is_plain(name: Any) -> bool:
    """Say whether a value names something in its own folder."""
    return isinstance(name, str) and name not in ("", ".", "..") and Path(name).name == name


def _snapshot(folder: Path) -> Path:
    """Return the newest snapshot of a data set in the cache of the hub's client."""
    main = folder / "refs" / "main"
    named = folder / "snapshots" / main.read_text(encoding="utf-8", errors="replace").strip() if main.is_file() else folder
    snapshots = [named] if named != folder and named.is_dir() else sorted((folder / "snapshots").iterdir())
    if len(snapshots) != 1:
        raise DataError(f"{folder}: {len(snapshots)} versions are in its `snapshots`; pass the folder of one")
    return snapshots[0]


def _one_or_shards(folder: Path, split: str, parts: Sequence[Path]) -> None:
    whole = {file: stem_of(file) == file_kinds.parts(file).stem.lower() for file in parts}
    if len({(file.name if whole[file] else stem_of(file), file_kinds.parts(file).suffix) for file in parts}) > 1:
        raise DataError(f"{folder}: more than one file for the {split} split: {', '.join(file.name for file in parts)}; leave one there")


def _said(assigned: Assigned) -> tuple[str, ...]:
    read = ", ".join(f"{name} as {split}" for split, name in assigned.splits.items())
    by_words = (f"read by their names: {read}",) if assigned.by_words else ()
    return (*by_words, *_left_out(assigned.left_out))


def _left_out(names: Iterable[str]) -> tuple[str, ...]:
    listed = ", ".join(names)
    return (f"not read, as their names say no split: {listed}",) if listed else ()


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths[:6]) + (f" and {len(paths) - 6} more" if len(paths) > 6 else "")
