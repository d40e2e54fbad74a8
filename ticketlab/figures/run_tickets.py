"""The tickets of the runs in a comparison, and the number of attention heads of their models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from ticketlab.backbone.adapters import SHRUNK, adapter_of, has_adapter
from ticketlab.backbone.model_config import FILE as CONFIG
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.figures.measured import check_finished
from ticketlab.lab import mirror
from ticketlab.lab.layout import MODEL, TICKET, TICKETS, lab_of_run, stage_folder
from ticketlab.lab.results import StageResult, stage_results
from ticketlab.report.cells import Cell, Comparison
from ticketlab.tickets.ticket import Ticket


@frozen
class RunTicket:
    """A ticket of a cell, that of one task, seed and draw stage. ``stage`` is empty if the cell has one draw stage only."""

    cell: Cell
    task: str
    seed: str
    stage: str
    key: str
    path: Path
    heads: int | None
    """The heads of a layer, None if they are unknown: no model of the run is in the lab."""

    def load(self) -> Ticket:
        """Read the ticket."""
        return Ticket.load(self.path)


def tickets_of(comparison: Comparison, stage: str = "") -> list[RunTicket]:
    """Return the tickets of all finished cells, each once per cell, in the order of the cells; those of one draw ``stage`` if it is named.

    :raises UsageError: no cell is finished, none has such a stage, or a ticket is no longer in the lab.
    """
    check_finished(comparison)
    found = [ticket for cell in comparison.cells if not (cell.same_as and cell.inapplicable) for ticket in _of_cell(cell, stage)]
    if not found:
        raise UsageError(f"stage: no finished cell has a {f'draw stage `{stage}`' if stage else 'ticket'}")
    return found


def _of_cell(cell: Cell, stage: str) -> Iterator[RunTicket]:
    if cell.results is None:
        return
    draws = [result for result in stage_results(cell.results) if result.kind == "draw" and stage in ("", result.name)]
    several = len({draw.name for draw in draws}) > 1
    seen: set[tuple[str, str, str]] = set()
    for draw in draws:
        identity = draw.task, draw.name, draw.key
        if identity not in seen:  # seeds may share one
            seen.add(identity)
            name = draw.name if several else ""
            yield RunTicket(cell, draw.task, draw.seed, name, draw.key, _path(cell, draw), _heads(cell, draw))


def _path(cell: Cell, draw: StageResult) -> Path:
    """Return the file of a ticket: that of the draw stage, else the copy in the run's directory that names the stage's key."""
    own = stage_folder(lab_of_run(cell.folder), draw.key) / TICKET
    mirror.fetch(own)
    if own.is_file():
        return own
    for copy in sorted((cell.folder / TICKETS).glob(f"*-{draw.name}-seed{draw.seed}.safetensors")):
        if Ticket.load(copy).provenance.get("key") == draw.key:
            return copy
    raise UsageError(f"{cell.folder}: the ticket of `{draw.name}` ({draw.task}, seed {draw.seed}) is no longer in the lab")


def _heads(cell: Cell, draw: StageResult) -> int | None:
    """Return the heads of a layer of the models that the run trained, from the config of one that is in the lab and not shrunk."""
    for stage in draw.siblings.values():
        path = stage_folder(lab_of_run(cell.folder), str(stage.get("key", ""))) / MODEL / CONFIG
        mirror.fetch(path)
        try:
            config = files.read_json(path)
            model_type = str(config["model_type"])
            if has_adapter(model_type) and not model_type.startswith(SHRUNK):
                return int(config[adapter_of(model_type).heads])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
