"""Atomic writes: a reader sees the old file or the new one, never half of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn, Protocol

from ticketlab.core import disk_and_memory, platforms, temporary
from ticketlab.core.errors import UsageError

OTHERS = 0o077
"""The permissions of a file for others than its owner."""


def write_atomic(path: Path, write: Callable[[Path], object]) -> None:
    """Call ``write`` with a temporary path in the same folder, then replace ``path`` with the result.

    Temporary files that a killed process left for the same path are removed.

    :raises OutOfSpace: the disk is full.
    """
    path = expand(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary.sweep_temporaries_of(path)
    written = temporary.temporary_path(path)
    try:
        with disk_and_memory.writing(path):
            write(written)
            apply_umask([written])
            replace(written, path)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


def apply_umask(written: Iterable[Path]) -> None:
    """Give files the permissions that the umask provides for: safetensors writes them for the owner alone. Folders are left alone."""
    private = [file for file in written if file.is_file() and not file.stat().st_mode & OTHERS]
    if private:
        probe = temporary.temporary_path(private[0])
        probe.touch()
        mode = probe.stat().st_mode
        probe.unlink()
        for file in private:
            file.chmod(mode)


def is_inside(name: str) -> bool:
    """Return whether a relative name with slashes, read from a file or a server, stays inside the folder that it is relative to."""
    first, *_ = parts = re.split(r"[/\\]", name)
    return bool(first) and not first.endswith(":") and ".." not in parts


class Guard(Protocol):
    """Decides whether this process may still write in a folder."""

    def check(self) -> None:
        """Raise an error if it may not."""

    def move(self, source: Path, target: Path) -> None:
        """Move a file or folder in the folder to its place, or raise an error if this process may not write there."""


_guards: dict[Path, Guard] = {}


@contextlib.contextmanager
def guarded(folder: Path, guard: Guard) -> Iterator[None]:
    """Ask ``guard`` before each write in a folder while the block runs: another process may have taken it over."""
    folder = folder.absolute()
    _guards[folder] = guard
    try:
        yield
    finally:
        del _guards[folder]


def forget_guards() -> None:
    """Drop all guards, in a process that was forked: they are those of its parent."""
    _guards.clear()


def replace(source: Path, target: Path) -> None:
    """Move a file or folder that has been written to its place, in one step.

    :raises TicketlabError: the place is in a folder that another process has taken over.
    """
    guard = _guard_of(target)
    if guard is None:
        platforms.replace(source, target)
    else:
        guard.move(source, target)


def check_writable(path: Path, called: str = "") -> None:
    """Check that a file can be written: its folder is writable, or can be created. Messages call it ``called``, by default its path.

    :raises UsageError: it cannot.
    """
    folder = next(place for place in path.absolute().parents if place.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{called or path}: no file can be written in {folder}")


def remove_empty_folders(folder: Path, root: Path) -> None:
    """Remove ``folder`` and those that it lies in, below ``root``, as far as they are empty."""
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def check_guard(path: Path) -> None:
    """Check that this process may still write to a file. Raises the error of :func:`replace`."""
    guard = _guard_of(path)
    if guard is not None:
        guard.check()


def _guard_of(path: Path) -> Guard | None:
    if not _guards:
        return None
    path = path.absolute()
    return next((guard for place in path.parents if (guard := _guards.get(place)) is not None), None)


def write_new(path: Path, write: Callable[[Path], object]) -> None:
    """Like :func:`write_atomic`, but never overwrite an existing file that has different content.

    :raises UsageError: such a file exists.
    """
    import filecmp

    path = expand(path)

    def write_if_free(written: Path) -> None:
        write(written)
        if path.exists() and not filecmp.cmp(written, path, shallow=False):
            raise UsageError(f"{path}: the file already exists; choose another name, or remove it")

    write_atomic(path, write_if_free)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8 and with the same line ends on all systems."""
    write_atomic(path, lambda written: written.write_text(text, encoding="utf-8", newline="\n"))


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically, indented, keys in the order given."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    :raises ValueError: it is not UTF-8 or not JSON, is nested too deeply, or contains NaN or infinity, which JSON does not allow.
    """
    return parse_json(path.read_text(encoding="utf-8"))


def parse_json(text: str) -> Any:
    """Parse a JSON string. Raises the same errors as :func:`read_json`."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def expand(path: str | Path) -> Path:
    """Return a path with ``~`` replaced by the home folder of the user, if that user exists.

    :raises UsageError: the path contains a NUL character, which no file system allows.
    """
    if "\0" in str(path):
        raise UsageError(f"{path}: a path cannot contain a NUL character")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
