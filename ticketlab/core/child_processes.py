"""Processes of Python that this one starts, and that end with it."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

SECONDS_BETWEEN_LOOKS = 1.0


def python_command(module: str) -> list[str]:
    """Return the command that runs a module with this Python.

    Modules in the working directory are found only if they are here: a user's ``datasets.py`` must not replace a library.
    """
    here = {"", str(Path.cwd())}.intersection(sys.path)
    return [sys.executable, *([] if here else ["-P"]), "-m", module]


def end_with_parent() -> None:
    """From now on, end this process when the one that started it has ended."""
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
