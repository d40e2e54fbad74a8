"""Finds the files of a local data set and the split that each belongs to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.tasks.reading import file_kinds, layouts
from ticketlab.tasks.reading.content import what_is
from ticketlab.tasks.reading.file_kinds import SUFFIXES as SUFFIXES
from ticketlab.tasks.reading.layouts import Found
from ticketlab.tasks.reading.split_names import SPLIT_OF_STEM as SPLIT_OF_STEM
from ticketlab.tasks.reading.split_names import is_part, split_of


def find(path: Path, *, prose: bool = False) -> Found:
    """Return the files of each split of a file or folder; see :func:`ticketlab.tasks.reading.layouts.arrange`. Nothing is read of them.

    A file that says no split counts as ``train``. ``prose`` is text without labels, which .txt files hold too.

    :raises DataError: nothing there, nothing readable there, or two files for one split.
    """
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        return layouts.arrange(path, prose=prose)
    if not stat.S_ISREG(mode):
        raise DataError(f"{path}: {what_is(path)}, and data is read from files; write it into one first")
    if not file_kinds.parts(path).kind:
        kinds_read = ", ".join(file_kinds.TEXT_SUFFIXES if prose else file_kinds.SUFFIXES)
        what = file_kinds.advice(path)
        raise DataError(f"{path}: {f'it is {what}' if what else f'not a kind of file that can be read; convert it to one of {kinds_read}'}")
    split = split_of(path)
    notices = (f"{path.name} is one of several parts, by its name; pass the folder to have all",) if is_part(path) else ()
    return Found({split or "train": [path]}, named=bool(split), notices=notices)


def check(path: Path, *, prose: bool = False) -> None:
    """Make sure that a file or folder is there, that its splits can be told, and that its files may be read.

    :raises DataError: as :func:`find`, or a file may not be read.
    """
    for files in find(path, prose=prose).splits.values():
        for file in files:
            if not os.access(file, os.R_OK):
                raise DataError(f"{file}: cannot be read: permission denied")


def title(path: Path) -> str:
    """Return the name of a data set: its folder's, or its file's if that says more than the split."""
    path = path.absolute()
    if file_kinds.is_known(path) and not path.is_dir():
        return path.parent.name if split_of(path) and path.parent.name else file_kinds.parts(path).stem
    return path.resolve().name or str(path)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        if path.is_symlink():
            raise DataError(f"{path}: a link to {path.readlink()}, which is not there") from None
        pattern = "; patterns are not expanded: pass the folder" if set(path.name) & set("*?[") else ""
        raise DataError(f"{path}: there is no such file or folder{pattern or _neighbour(path)}") from None
    except OSError as problem:
        raise DataError(f"{path}: cannot be read: {problem.strerror}") from None


def _neighbour(path: Path) -> str:
    try:
        names = [file.name for file in path.parent.iterdir() if not file.name.startswith(".")]
    except (OSError, ValueError):
        return ""
    hint = did_you_mean(path.name, names)
    return hint if "did you mean" in hint else ""
