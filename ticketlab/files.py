"""Atomic writes: a reader sees the old file or the new one, never half of it."""

from __future__ import annotations

import filecmp
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ticketlab.errors import UsageError


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Call ``write`` with a temporary path beside ``path``, then put the result in its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        write(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def put_new(path: Path, write: Callable[[Path], object]) -> None:
    """Do as :func:`replace`, but keep a file that is there already and holds something else.

    :raises UsageError: there is such a file.
    """

    def write_if_free(temporary: Path) -> None:
        write(temporary)
        if path.exists() and not filecmp.cmp(temporary, path, shallow=False):
            raise UsageError(f"{path}: there is such a file already; name another one, or remove it")

    replace(path, write_if_free)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8."""
    replace(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically, indented, keys in the order given."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def expand(path: str | Path) -> Path:
    """Return a path with ``~`` replaced by a home folder, where there is such a user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
