"""Entry point for a local path: finds its files and the split of each. :mod:`.layouts` recognises folder layouts."""

from __future__ import annotations

import functools
import os
import stat
from pathlib import Path

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.tasks.reading import file_kinds, layouts
from ticketlab.tasks.reading.content import describe_special_file
from ticketlab.tasks.reading.layouts import SplitFiles
from ticketlab.tasks.reading.split_names import check_parts, is_part, split_of_file


def find_files(path: Path, *, prose: bool = False) -> SplitFiles:
    """Return the files of each split of a file or folder, without reading them; see :func:`ticketlab.tasks.reading.layouts.find_splits`.

    A file whose name contains no split counts as ``train``. ``prose`` is text without labels, for which .txt files are accepted too.

    :raises DataError: there is no such file or folder, no supported file, or more than one file for a split; or a part of a table is
        missing.
    """
    mode = _stat_mode(path)
    if stat.S_ISDIR(mode):
        found = layouts.find_splits(path, prose=prose)
        for parts in found.splits.values():
            check_parts(parts)
        return found
    if not stat.S_ISREG(mode):
        raise DataError(f"{path}: {describe_special_file(path)}, not a file; write the data into a file first")
    if not file_kinds.parse_name(path).kind:
        kinds_read = ", ".join(file_kinds.TEXT_SUFFIXES if prose else file_kinds.SUFFIXES)
        what = file_kinds.advice_for(path)
        raise DataError(f"{path}: {f'it is {what}' if what else f'this kind of file is not supported; convert it to one of {kinds_read}'}")
    split = split_of_file(path)
    notices = (f"{path.name} is one of several parts, according to its name; pass the folder to read all of them",) if is_part(path) else ()
    return SplitFiles({split or "train": [path]}, named=bool(split), notices=notices)


def check_files(path: Path) -> None:
    """Check that a file or folder exists, that its splits can be identified, and that its files are readable.

    :raises DataError: see :func:`find_files`; or a file is not readable.
    """
    for files in find_files(path).splits.values():
        for file in files:
            if not os.access(file, os.R_OK):
                raise DataError(f"{file}: cannot be read: permission denied")


def dataset_title(path: Path) -> str:
    """Return the name of a data set: that of its folder, or of its file if the file is not named after a split."""
    return _title(path.absolute())


@functools.lru_cache(maxsize=1024)  # links are resolved, and the recipes of a study name each data set thousands of times
def _title(path: Path) -> str:
    if file_kinds.has_known_suffix(path) and not path.is_dir():
        return path.parent.name if split_of_file(path) and path.parent.name else file_kinds.parse_name(path).stem
    return path.resolve().name or str(path)


def _stat_mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        if path.is_symlink():
            raise DataError(f"{path}: a link to {path.readlink()}, which does not exist") from None
        pattern = "; patterns are not expanded: pass the folder" if set(path.name) & set("*?[") else ""
        raise DataError(f"{path}: there is no such file or folder{pattern or _suggest(path)}") from None
    except OSError as problem:
        raise DataError(f"{path}: cannot be read: {problem.strerror}") from None


def _suggest(path: Path) -> str:
    try:
        names = [file.name for file in path.parent.iterdir() if not file.name.startswith(".")]
    except (OSError, ValueError):
        return ""
    hint = did_you_mean(path.name, names)
    return hint if "did you mean" in hint else ""
