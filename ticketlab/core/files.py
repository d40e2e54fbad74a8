"""Atomic writes: a reader sees the old file or the new one, never half of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from ticketlab.core import disk_and_memory, temporary
from ticketlab.core.errors import UsageError


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
            written.replace(path)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


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
    """Write a text file atomically, as UTF-8."""
    write_atomic(path, lambda written: written.write_text(text, encoding="utf-8"))


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
