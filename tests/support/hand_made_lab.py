"""A lab made by hand: tickets and recorded masks in the folders of stages, without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.hand_made import cell, results
from torch import Tensor

from ticketlab.core import files
from ticketlab.lab import mirror
from ticketlab.lab.layout import MASKS, MODEL, TICKET, stage_folder
from ticketlab.report.cells import Cell
from ticketlab.tickets.snapshots import save_masks
from ticketlab.tickets.ticket import Ticket

Masks = Mapping[str, Tensor]


def cell_with_tickets(
    lab: Path, levels: Mapping[str, str], tickets: Sequence[Masks], *, config: Mapping[str, Any] | None = None, **more: Any
) -> Cell:
    """Return a cell with a ticket for each seed. ``config`` is that of the model which the search started from, if it is in the lab."""
    name, seeds = "-".join(levels.values()), []
    for seed, masks in enumerate(tickets):
        key = f"{name}-draw-{seed}"
        Ticket(masks, "structure", "found", "rewind", {"key": key}).save(stage_folder(lab, key) / TICKET)
        stages = {"draw": {"kind": "draw", "key": key, "ticket": {}}}
        if config is not None:
            files.write_json(stage_folder(lab, f"{name}-model-{seed}") / MODEL / "config.json", config)
            stages = {"finetune": {"kind": "train", "key": f"{name}-model-{seed}", "train": {}}} | stages
        seeds.append(stages)
    return cell(levels, results({"sst2": seeds}), folder=lab / "runs" / name, **more)


def move_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Move a file of a lab away, as if the lab were at a URL and this machine had not read the file yet; fetching it brings it back."""
    away = path.rename(path.with_name("away"))

    def fetch(wanted: Path) -> None:
        if wanted == path and away.exists():
            away.rename(path)

    monkeypatch.setattr(mirror, "fetch", fetch)


def cell_with_masks(lab: Path, levels: Mapping[str, str], searches: Sequence[Mapping[int, Masks]]) -> Cell:
    """Return a cell with a search for each seed that kept its masks, by step."""
    name, seeds = "-".join(levels.values()), []
    for seed, masks in enumerate(searches):
        key = f"{name}-search-{seed}"
        save_masks(masks, stage_folder(lab, key) / MASKS)
        seeds.append({"search": {"kind": "search", "key": key, "search": {"steps": max(masks)}}})
    return cell(levels, results({"sst2": seeds}), folder=lab / "runs" / name)
