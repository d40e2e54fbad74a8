"""What differs between operating systems: how worker processes are started, on how many cores, and how files are replaced."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Literal

from ticketlab.core.errors import UsageError

START_METHOD = "TICKETLAB_START_METHOD"
"""The environment variable that sets how worker processes are started: ``fork`` or ``spawn``."""

SECONDS_TO_REPLACE = 2.0


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_method() -> Literal["fork", "spawn"]:
    """Return how to start a worker process that computes on the CPU: forked on Linux, where it shares this process's memory, else spawned.

    :raises UsageError: :data:`START_METHOD` is set to something else, or to ``fork`` on a system that cannot.
    """
    can_fork = hasattr(os, "fork")
    wanted = os.environ.get(START_METHOD, "")
    if wanted not in ("", "fork", "spawn") or (wanted == "fork" and not can_fork):
        allowed = "`fork` or `spawn`" if can_fork else "`spawn` on this system"
        raise UsageError(f"{START_METHOD}={wanted}: must be {allowed}")
    if wanted:
        return "spawn" if wanted == "spawn" else "fork"
    return "fork" if can_fork and sys.platform == "linux" else "spawn"  # macOS: its system libraries do not survive a fork


def replace(source: Path, target: Path) -> None:
    """Move a file or folder to its place, in one step.

    Windows refuses that while another process reads either of them, such as an indexer: then it is tried for :data:`SECONDS_TO_REPLACE`.
    """
    until = time.monotonic() + SECONDS_TO_REPLACE
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if os.name != "nt" or time.monotonic() > until:
                raise
            time.sleep(0.05)
