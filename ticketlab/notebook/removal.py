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

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import joined
from ticketlab.lab import lease
from ticketlab.lab.active_runs import active_runs, lab_lock
from ticketlab.lab.lab import Lab, is_read_only
from ticketlab.lab.layout import LEASE, TRASH, is_lab, lab_of_run, stage_folder
from ticketlab.lab.lease import Lease
from ticketlab.lab.mirror import mirror_at
from ticketlab.lab.open_lab import open_lab
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
    place = open_lab(lab)
    place.refresh()
    _check_is_lab(lab)
    needed = referenced_keys(lab)
    limit = (time.time() if now is None else now) - older_than
    return [
        Unneeded(key, sizes_in(folder).total())
        for key in stage_keys(lab)
        if key not in needed and _last_change(place, folder := stage_folder(lab, key)) <= limit and not place.is_locked(key)
    ]


def remove_stages(lab: Path, keys: Collection[str]) -> list[Unneeded]:
    """Remove those of the stages that are still unneeded, and what earlier removals and killed processes left.

    Returns the stages that were removed.

    :raises UsageError: the folder is not a lab.
    :raises OSError: a file cannot be read or removed.
    """
    check_lab(lab)
    removed = []
    place = open_lab(lab)
    with lab_lock(lab) as held:
        place.refresh()
        needed = referenced_keys(lab)
        for key in sorted(keys):
            folder = stage_folder(lab, key)
            if key in needed or not (folder.is_dir() or place.files_in(folder)):
                continue
            size = sizes_in(folder).total()
            if not place.is_locked(key) and _move_to_trash(place, folder, held):
                removed.append(Unneeded(key, size))
        _empty_trash(lab)
        Lab(lab).sweep()
    return removed


def remove_runs(runs: Sequence[Path]) -> None:
    """Remove the directories of runs of one lab. Their stages stay.

    :raises UsageError: one of them is in progress; none is removed.
    """
    lab = lab_of_run(runs[0])
    place = open_lab(lab)
    with lab_lock(lab) as held:
        check_not_running(lab, runs)
        for run in runs:
            place.remove(run)
            _to_trash(lab, run, held)
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
    _check_is_lab(lab)
    if is_read_only(lab, lab):
        raise UsageError(f"{lab}: the lab is read-only; run this where it can be written, or name another lab (--lab)")


def _check_is_lab(lab: Path) -> None:
    if not is_lab(lab) and mirror_at(lab) is None:
        raise UsageError(f"{lab}: not a lab: it has no stages and runs (use --lab for another folder)")


def _move_to_trash(place: Lab, folder: Path, held: Lease) -> bool:
    """Move the folder of a stage to the trash unless a process is computing it. Returns whether it was moved."""
    own = lease.try_acquire(folder / LEASE, {})
    if own is None:
        return False
    try:
        place.remove(folder)
        _to_trash(place.root, folder, held)
    finally:
        own.release()
    with contextlib.suppress(OSError):
        folder.parent.rmdir()  # unless other stages are there
    return True


def _to_trash(lab: Path, folder: Path, held: Lease) -> None:
    """Move a folder to the trash with the lock of the lab, which may have been lost: a run that has started since may need the folder."""
    (lab / TRASH).mkdir(exist_ok=True)
    held.move(folder, lab / TRASH / f"{folder.name[:50]}-{os.urandom(6).hex()}")


def _empty_trash(lab: Path) -> None:
    if (lab / TRASH).is_dir():
        shutil.rmtree(lab / TRASH)


def _last_change(place: Lab, folder: Path) -> float:
    """Return the time of the last change in a folder, in seconds since the epoch."""
    stored = place.files_in(folder)
    if stored is not None:
        return max((file.modified for file in stored.values()), default=0.0)
    return max((path.stat().st_mtime for path in (folder, *folder.rglob("*")) if path.exists()), default=0.0)
