"""Temporary files and folders whose names identify their process, so that those of killed processes, and no others, are removed.

A name ends in MACHINE-PID-RANDOM. Files of a process that no longer runs on this machine are stale. Whether a process is
still running on another machine is unknown, so its files are stale after a day; no write takes that long.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from ticketlab.core import processes

NAME = re.compile(r"\.(?P<of>.+)\.(?:(?P<machine>[0-9a-f]{6})-(?P<pid>\d+)-)?[0-9a-f]{8}(?:\.old)?", re.DOTALL)
FOLDER = re.compile(r"ticketlab-(?:nltk-|(?:nltk-)?(?P<machine>[0-9a-f]{6})-(?P<pid>\d+)-)[a-z0-9_]{8}")
"""Names from earlier versions have neither machine nor process id."""
LONGEST = 50
"""Characters of a file's name that its temporary name keeps, so that it stays within the length limit of file systems."""
DAY = 24 * 3600.0
MACHINE = 6
"""Digits of the id of a machine in a name."""


def temporary_path(path: Path) -> Path:
    """Return a new temporary name in the folder of ``path``, for the file that will replace it."""
    return path.with_name(f".{path.name[:LONGEST]}.{mark()}{os.urandom(4).hex()}")


def mark() -> str:
    """Return an identifier of this process: the machine (or container) and the process id there."""
    return f"{processes.machine()[:MACHINE]}-{os.getpid()}-"


def sweep_temporaries_of(path: Path) -> None:
    """Remove stale temporary files of ``path``, and nothing else in its folder. Files that cannot be removed are kept."""
    for entry, found in _temporaries(path.parent):
        if found["machine"] and found["of"] == path.name[:LONGEST] and _is_stale(entry, found):
            _remove(entry)


def sweep(folder: Path, *, locked: bool = False) -> None:
    """Remove all stale temporary files from a folder that ticketlab owns and from its subfolders.

    ``locked`` means that no other process can be writing there, so all temporary files are stale.
    """
    for place, _, _ in os.walk(folder):
        for entry, found in _temporaries(Path(place)):
            if locked or _is_stale(entry, found):
                _remove(entry)


def sweep_temporary_folders(place: Path) -> None:
    """Remove stale temporary folders of ticketlab from the system's temporary folder; only those that belong to this account."""
    for entry in _entries(place):
        found = FOLDER.fullmatch(entry.name)
        # Its process may remove a folder at any time.
        with contextlib.suppress(FileNotFoundError):
            if found and entry.is_dir(follow_symlinks=False) and _is_mine(entry) and _is_stale(entry, found):
                _remove(entry)


def _temporaries(folder: Path) -> Iterator[tuple[os.DirEntry[str], re.Match[str]]]:
    for entry in _entries(folder):
        found = NAME.fullmatch(entry.name)
        if found:
            yield entry, found


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _is_stale(entry: os.DirEntry[str], found: re.Match[str]) -> bool:
    if found["machine"] == processes.machine()[:MACHINE]:
        return processes.is_gone(int(found["pid"]))
    with contextlib.suppress(OSError):
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > DAY
    return False


def _is_mine(entry: os.DirEntry[str]) -> bool:
    return not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()


def _remove(entry: os.DirEntry[str]) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode):
            import shutil

            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            Path(entry.path).unlink()
