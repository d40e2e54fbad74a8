"""Finds the file of a ticket, or of the scores to draw one from, for the commands of ``ticketlab ticket``."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core.errors import UsageError
from ticketlab.lab import mirror
from ticketlab.lab.finished_models import check_not_of_run
from ticketlab.lab.layout import SCORES, TICKET, TICKETS, is_run
from ticketlab.lab.results import stage_folders, stages_of_kind


def ticket_file(path: Path, lab: Path, task: str | None = None, seed: int | None = None) -> Path:
    """Return the file of a ticket: the path itself, the file of a draw stage's folder, or the only one of a run for a task and seed.

    A run may be named as in :func:`ticketlab.lab.finished_runs.find_run`.

    :raises UsageError: the run has several tickets.
    """
    from ticketlab.lab.finished_runs import find_run

    path = Path(find_run(str(path), lab, "draw"))
    if not is_run(path):
        check_not_of_run(path, task, seed)
        if not path.is_dir():
            return path
        found = sorted((path / TICKETS).glob("*.safetensors"))
    else:
        found = _tickets_of_run(path, task, seed)
    if len(found) > 1:
        raise UsageError(f"{path}: a run with {len(found)} tickets; choose one with --run-seed and --run-task, or name it: {found[0]}")
    return found[0] if found else path / TICKET


def _tickets_of_run(run: Path, task: str | None, seed: int | None) -> list[Path]:
    """Return the tickets of a run that are there, for a task and seed or all."""
    from ticketlab.runs.copied_outputs import ticket_copy

    if task is None and seed is None:
        return sorted((run / TICKETS).glob("*.safetensors"))
    return [ticket_copy(run, draw.task, draw.name, draw.seed) for draw in stages_of_kind(run, "draw", task, seed)]


def scores_file(path: Path, lab: Path, task: str | None = None, seed: int | None = None) -> Path:
    """Return the file of scores: the path itself, that of a search stage's folder, or that of the only search of a run, task and seed.

    A run may be named as in :func:`ticketlab.lab.finished_runs.find_run`.

    :raises UsageError: the run has no search, or several; the message lists their folders.
    """
    from ticketlab.lab.finished_runs import find_run

    path = Path(find_run(str(path), lab, "search"))
    if not is_run(path):
        check_not_of_run(path, task, seed)
        return path / SCORES if path.is_dir() else path
    folders = sorted(stage_folders(path, "search", task, seed))
    if len(folders) != 1:
        choose = "choose one with --run-seed and --run-task, or " if folders else ""
        raise UsageError(
            f"{path}: a run with {len(folders) or 'no'} searches; {choose}name the folder of one"
            f"{''.join(f', {folder}' for folder in folders)}"
        )
    mirror.fetch(folders[0] / SCORES)
    return folders[0] / SCORES
