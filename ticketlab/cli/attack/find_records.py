"""Finds the files of attack records for ``attack show`` and ``attack export``."""

from __future__ import annotations

from pathlib import Path

from ticketlab.attacks.results.record_file import files_in
from ticketlab.core.errors import UsageError
from ticketlab.lab import mirror
from ticketlab.lab.finished_models import check_not_of_run
from ticketlab.lab.layout import is_run
from ticketlab.lab.results import stage_folders


def record_files(path: Path, lab: Path, task: str | None = None, seed: int | None = None) -> list[Path]:
    """Return the files of records: the path itself, or those of an attack stage's folder or of a run, for a task and seed or all.

    A run may be named as in :func:`ticketlab.lab.finished_runs.find_run`.

    :raises UsageError: there are no records.
    """
    from ticketlab.lab.finished_runs import find_run

    path = Path(find_run(str(path), lab, "attack"))
    if not is_run(path):
        check_not_of_run(path, task, seed)
    if not path.is_dir():
        return [path]
    folders = stage_folders(path, "attack", task, seed) if is_run(path) else [path]
    for folder in folders:
        mirror.fetch(folder)
    found = [file for folder in folders for file in files_in(folder)]
    if not found:
        raise UsageError(
            f"{path}: there are no attack records; name a file of records, the folder of an attack stage, or a run with an attack stage"
        )
    return found
