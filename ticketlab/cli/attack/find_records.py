"""Where the commands on files of records find one."""

from __future__ import annotations

from pathlib import Path

from ticketlab.attacks.results.records import files_in
from ticketlab.core.errors import UsageError
from ticketlab.lab.results import read_results


def record_files(path: Path, lab: Path) -> list[Path]:
    """Return the files of records: the path itself, those of an attack stage's folder, or those of a run's directory.

    A run may be named as in :func:`ticketlab.lab.finished_runs.run_of`.

    :raises UsageError: there are none.
    """
    from ticketlab.lab.finished_runs import run_of

    path = Path(run_of(str(path), lab, "attack"))
    if not path.is_dir():
        return [path]
    folders = _stages_of(path) if (path / "results.json").is_file() else [path]
    found = [file for folder in folders for file in files_in(folder)]
    if not found:
        raise UsageError(f"{path}: there are no records; name a file of them, the folder of an attack stage, or a run that attacks")
    return found


def _stages_of(run: Path) -> list[Path]:
    from ticketlab.lab.lab import Lab

    tasks = read_results(run / "results.json")["tasks"].values()
    keys = [stage["key"] for seeds in tasks for stages in seeds.values() for stage in stages.values() if stage["kind"] == "attack"]
    return [Lab(run.resolve().parent.parent).stage(key) for key in dict.fromkeys(keys)]
