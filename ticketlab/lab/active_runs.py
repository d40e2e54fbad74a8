"""Runs in progress. Each process registers its run with the stages that it needs, so that no other process removes them.

A registration is a file in ``LAB/active/`` next to a lock that its process holds. The system releases the lock when the process ends,
however it ends, and a registration without its lock is void. To register and to remove, a process holds the lock of the lab: what is
removed is not needed by a registered run, and a run that starts later finds it missing and computes it again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from attrs import frozen
from filelock import FileLock, Timeout

from ticketlab.core import files, progress, temporary
from ticketlab.lab.layout import ACTIVE

LAB_LOCK = ".lock"


@frozen
class ActiveRun:
    """A run in progress: the name of its directory and the keys of the stages that it needs."""

    run: str
    keys: frozenset[str]


@contextlib.contextmanager
def lab_lock(lab: Path) -> Iterator[None]:
    """Hold the lock of a lab: no run starts, and nothing is removed by others, while the block runs."""
    (lab / ACTIVE).mkdir(parents=True, exist_ok=True)
    lock = FileLock(lab / ACTIVE / LAB_LOCK)
    try:
        lock.acquire(timeout=1)
    except Timeout:
        progress.say(f"{lab}: another process is removing stages or starting a run; waiting")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def registered(lab: Path, run: str, keys: Collection[str]) -> Iterator[None]:
    """Register a run while the block runs. Enter it with the lock of the lab."""
    name = f"{temporary.mark()}{os.urandom(4).hex()}"
    lock = FileLock(lab / ACTIVE / f"{name}.lock")
    lock.acquire()
    entry = lab / ACTIVE / f"{name}.json"
    try:
        files.write_json(entry, {"run": run, "keys": sorted(keys)})
        yield
    finally:
        _remove(entry, lock)


def active_runs(lab: Path) -> list[ActiveRun]:
    """Return the runs in progress. Registrations of processes that have ended are removed if the lab can be written."""
    found = []
    for entry in sorted((lab / ACTIVE).glob("*.json")):
        lock = FileLock(entry.with_suffix(".lock"))
        try:
            lock.acquire(timeout=0)
        except (Timeout, OSError):  # in progress, or unknown in a lab that cannot be written
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # ended in the meantime
                content = files.read_json(entry)
                found.append(ActiveRun(str(content["run"]), frozenset(map(str, content["keys"]))))
        else:
            _remove(entry, lock)
    return found


def _remove(entry: Path, lock: FileLock) -> None:
    with contextlib.suppress(OSError):
        entry.unlink(missing_ok=True)
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()
