"""Removes runs and unneeded stages. Each is moved away in one step, so that no process finds half of it.

Everything happens with the lock of the lab (:mod:`ticketlab.lab.active_runs`): a run that is in progress keeps its directory and its
stages, and one that starts in the meantime waits until this is done.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from attrs import frozen
from filelock import FileLock, Timeout

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import joined
from ticketlab.lab.active_runs import active_runs, lab_lock
from ticketlab.lab.lab import is_read_only
from ticketlab.lab.layout import LOCK, TRASH, is_lab, lab_of_run, stage_folder
from ticketlab.notebook.references import referenced_keys
from ticketlab.notebook.sizes import sizes_in, stage_keys


@frozen
class Unneeded:
    """A stage that nothing refers to: its key and its bytes."""

    key: str
    bytes: int


def unneeded_stages(lab: Path, older_than: float = 0.0, now: float | None = None) -> list[Unneeded]:
    """Return the stages that nothing in the lab refers to, that no process is computing, and that are older than some seconds.

    :raises UsageError: the folder is not a lab.
    """
    check_lab(lab)
    needed = referenced_keys(lab)
    limit = (time.time() if now is None else now) - older_than
    return [
        Unneeded(key, sizes_in(folder).total())
        for key in stage_keys(lab)
        if key not in needed and _last_change(folder := stage_folder(lab, key)) <= limit and not _is_locked(folder)
    ]


def remove_stages(lab: Path, keys: Collection[str]) -> list[Unneeded]:
    """Remove those of the stages that are still unneeded, and what earlier removals left. Returns what was removed.

    :raises UsageError: the folder is not a lab.
    :raises OSError: a file cannot be read or removed.
    """
    check_lab(lab)
    removed = []
    with lab_lock(lab):
        needed = referenced_keys(lab)
        for key in sorted(keys):
            folder = stage_folder(lab, key)
            if key in needed or not folder.is_dir():
                continue
            size = sizes_in(folder).total()
            if _move_to_trash(lab, folder):
                removed.append(Unneeded(key, size))
        _empty_trash(lab)
    return removed


def remove_runs(runs: Sequence[Path]) -> None:
    """Remove the directories of runs of one lab. Their stages stay.

    :raises UsageError: one of them is in progress; none is removed.
    """
    lab = lab_of_run(runs[0])
    with lab_lock(lab):
        check_not_running(lab, runs)
        for run in runs:
            _to_trash(lab, run)
        _empty_trash(lab)


def check_not_running(lab: Path, runs: Sequence[Path]) -> None:
    """Check that none of the runs is in progress.

    :raises UsageError: one is.
    """
    active = {run.run for run in active_runs(lab)}
    running = [run.name for run in runs if run.resolve().name in active]
    if running:
        raise UsageError(f"{joined(running)}: in progress; nothing is removed (stop the run first)")


def check_lab(lab: Path) -> None:
    """Check that a folder is a lab in which something can be removed.

    :raises UsageError: it is not.
    """
    if not is_lab(lab):
        raise UsageError(f"{lab}: not a lab: it has no stages and runs (use --lab for another folder)")
    if is_read_only(lab, lab):
        raise UsageError(f"{lab}: the lab is read-only")


def _move_to_trash(lab: Path, folder: Path) -> bool:
    """Move the folder of a stage to the trash unless a process is computing it. Returns whether it was moved."""
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    try:
        _to_trash(lab, folder)
    finally:
        lock.release()
    with contextlib.suppress(OSError):
        folder.parent.rmdir()  # unless other stages are there
    return True


def _to_trash(lab: Path, folder: Path) -> None:
    (lab / TRASH).mkdir(exist_ok=True)
    folder.rename(lab / TRASH / f"{folder.name[:50]}-{os.urandom(6).hex()}")


def _empty_trash(lab: Path) -> None:
    if (lab / TRASH).is_dir():
        shutil.rmtree(lab / TRASH)


def _is_locked(folder: Path) -> bool:
    if not (folder / LOCK).exists():
        return False
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def _last_change(folder: Path) -> float:
    """Return the time of the last change in a folder, in seconds since the epoch."""
    return max((path.stat().st_mtime for path in (folder, *folder.rglob("*")) if path.exists()), default=0.0)
