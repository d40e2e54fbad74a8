"""Finding out where code writes files: by Python's audit events, which report every file that is opened, made, renamed or removed."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.mkdir": (0,),
    "os.rename": (0, 1),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.truncate": (0,),
    "os.link": (1,),
    "os.symlink": (1,),
}
"""The events that change a file, with the arguments that are its paths."""

_listeners: list[Callable[[Path], None]] = []


@contextlib.contextmanager
def on_write(listener: Callable[[Path], None]) -> Iterator[None]:
    """Call ``listener`` with each path that this process is about to write to inside the block. An exception that it raises prevents it."""
    _install()
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextlib.contextmanager
def written_places() -> Iterator[list[Path]]:
    """Yield the list of the paths that are written to inside the block."""
    found: list[Path] = []
    with on_write(found.append):
        yield found


_installed = False


def _install() -> None:
    """Add the audit hook of this process; Python cannot remove one."""
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _listeners or (event != "open" and event not in CHANGES):
        return
    if event == "open":
        path, mode, flags = arguments
        places = [path] if any(letter in str(mode or "") for letter in "wax+") or (mode is None and int(flags) & WRITES) else []
    else:
        places = [arguments[index] for index in CHANGES[event]]
    for place in places:
        if isinstance(place, (str, bytes, os.PathLike)):
            path = Path(os.path.abspath(os.fsdecode(place)))  # noqa: PTH100  # resolving it would follow links
            if "__pycache__" not in path.parts and path.parts[1:2] != ("dev",):
                for listener in _listeners:
                    listener(path)
