"""Where the commands on tickets find one."""

from __future__ import annotations

from pathlib import Path

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
