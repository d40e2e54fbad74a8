"""Finds the file of a ticket, or of the scores to draw one from, for the commands of ``ticketlab ticket``."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core.errors import UsageError
from ticketlab.lab.layout import SCORES, TICKET, TICKETS, is_run
from ticketlab.lab.results import stage_folders


def ticket_file(path: Path, lab: Path) -> Path:
    """Return the file of a ticket: the path itself, the file of a draw stage's folder, or the only one of a run's directory.

    A run may be named as in :func:`ticketlab.lab.finished_runs.find_run`.

    :raises UsageError: the run has several tickets.
    """
    from ticketlab.lab.finished_runs import find_run

    path = Path(find_run(str(path), lab, "draw"))
    if not path.is_dir():
        return path
    found = sorted((path / TICKETS).glob("*.safetensors"))
    if len(found) > 1:
        raise UsageError(f"{path}: a run with {len(found)} tickets; name one of them, such as {found[0]}")
    return found[0] if found else path / TICKET


def scores_file(path: Path, lab: Path) -> Path:
    """Return the file of scores: the path itself, that of a search stage's folder, or that of the only search of a run's directory.

    A run may be named as in :func:`ticketlab.lab.finished_runs.find_run`.

    :raises UsageError: the run has no search, or several; the message lists their folders.
    """
    from ticketlab.lab.finished_runs import find_run

    path = Path(find_run(str(path), lab, "search"))
    if not path.is_dir():
        return path
    if not is_run(path):
        return path / SCORES
    folders = sorted(stage_folders(path, "search"))
    if len(folders) != 1:
        raise UsageError(
            f"{path}: a run with {len(folders) or 'no'} searches; name the folder of one{''.join(f', {folder}' for folder in folders)}"
        )
    return folders[0] / SCORES
