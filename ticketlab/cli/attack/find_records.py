"""Where the commands on files of records find one."""

from __future__ import annotations

from pathlib import Path

from ticketlab.attacks.results.records import files_in
from ticketlab.core.errors import UsageError
from ticketlab.lab.layout import is_run
from ticketlab.lab.results import stage_folders


def record_files(path: Path, lab: Path) -> list[Path]:
    """Return the files of records: the path itself, those of an attack stage's folder, or those of a run's directory.

    A run may be named as in :func:`ticketlab.lab.finished_runs.find_run`.

    :raises UsageError: there are none.
    """
    from ticketlab.lab.finished_runs import find_run

    path = Path(find_run(str(path), lab, "attack"))
    if not path.is_dir():
        return [path]
    folders = stage_folders(path, "attack") if is_run(path) else [path]
    found = [file for folder in folders for file in files_in(folder)]
    if not found:
        raise UsageError(f"{path}: there are no records; name a file of them, the folder of an attack stage, or a run that attacks")
    return found
