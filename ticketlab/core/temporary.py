"""Temporary files and folders that say whose they are, so that what a kill left behind is swept up, and nothing else.

A name ends in MACHINE-PID-RANDOM. What a process that has died on this machine left is stale; of what others left it is not known
whether they live, and it is stale after a day, which no write takes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

NAME = re.compile(r"\.(?P<of>.+)\.(?:(?P<machine>[0-9a-f]{6})-(?P<pid>\d+)-)?[0-9a-f]{8}(?:\.old)?", re.DOTALL)
FOLDER = re.compile(r"ticketlab-(?:nltk-|(?:nltk-)?(?P<machine>[0-9a-f]{6})-(?P<pid>\d+)-)[a-z0-9_]{8}")
"""Those of earlier versions have no machine and no process."""
LONGEST = 50
"""Characters of a file's name that its temporary name has: together they fit what file systems take."""
DAY = 24 * 3600.0


def path_beside(path: Path) -> Path:
    """Return a new temporary name in the folder of ``path``, for what will take its place."""
    return path.with_name(f".{path.name[:LONGEST]}.{mark()}{os.urandom(4).hex()}")


def mark() -> str:
    """Return what names this process: the machine (or container) and the number of the process there."""
    return f"{_machine()}-{os.getpid()}-"


def sweep_beside(path: Path) -> None:
    """Remove what was left of earlier tries to write ``path``, whose folder may be anybody's; what cannot be removed stays."""
    for entry, found in _temporaries(path.parent):
        if found["machine"] and found["of"] == path.name[:LONGEST] and _is_stale(entry, found):
            _remove(entry)


def sweep(folder: Path, *, locked: bool = False) -> None:
    """Remove all that is stale from a folder of ours and those in it.

    ``locked`` says that nobody else can be writing there, so that all is stale.
    """
    for place, _, _ in os.walk(folder):
        for entry, found in _temporaries(Path(place)):
            if locked or _is_stale(entry, found):
                _remove(entry)


def sweep_temporary_folders(place: Path) -> None:
    """Remove the stale ones of our temporary folders from the system's place for them; only those that belong to this account."""
    for entry in _entries(place):
        found = FOLDER.fullmatch(entry.name)
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
    if found["machine"] == _machine():
        return not _lives(int(found["pid"]))
    with contextlib.suppress(OSError):
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > DAY
    return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's
        return True
    return True


def _is_mine(entry: os.DirEntry[str]) -> bool:
    return not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()


def _remove(entry: os.DirEntry[str]) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode):
            import shutil

            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            Path(entry.path).unlink()


@functools.cache
def _machine() -> str:
    """Return what tells this machine from others, and in it the space of process numbers, which each container has for itself."""
    facts = [os.uname().nodename] if hasattr(os, "uname") else []
    with contextlib.suppress(OSError):
        facts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        facts.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115  # it leads to no path
    return f"{zlib.crc32('/'.join(facts).encode()):08x}"[:6]
