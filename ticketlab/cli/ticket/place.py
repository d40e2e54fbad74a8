"""Where the commands on tickets find one, or the scores to draw one from."""

from __future__ import annotations

from pathlib import Path

from ticketlab import files
from ticketlab.errors import UsageError


def ticket_file(path: Path) -> Path:
    """Return the file of a ticket: the path itself, the file of a draw stage's folder, or the only one of a run's directory.

    :raises UsageError: the run has several.
    """
    if not path.is_dir():
        return path
    found = sorted((path / "tickets").glob("*.safetensors"))
    if len(found) > 1:
        raise UsageError(f"{path}: a run with {len(found)} tickets; name one of them, such as {found[0]}")
    return found[0] if found else path / "ticket.safetensors"


def scores_file(path: Path) -> Path:
    """Return the file of scores: the path itself, that of a search stage's folder, or that of the only search of a run's directory.

    :raises UsageError: the run has no search, or several; the message has their folders.
    """
    from ticketlab.lab.lab import Lab
    from ticketlab.stages.base import SCORES

    if not path.is_dir():
        return path
    if not (path / "results.json").is_file():
        return path / SCORES
    try:
        tasks = files.read_json(path / "results.json")["tasks"].values()
        keys = {stage["key"] for seeds in tasks for stages in seeds.values() for stage in stages.values() if stage["kind"] == "search"}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path / 'results.json'}: not the results of a run, or damaged") from None
    folders = [Lab(path.resolve().parent.parent).stage(key) for key in sorted(keys)]
    if len(folders) != 1:
        raise UsageError(
            f"{path}: a run with {len(folders) or 'no'} searches; name the folder of one{''.join(f', {one}' for one in folders)}"
        )
    return folders[0] / SCORES
