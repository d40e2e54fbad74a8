"""The module that ticketlab finds through the entry point. It does not import torch, so that listing plugins is fast."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ticketlab.plugin import Lazy, hookimpl

TICKETLAB_API = "1.0"


@hookimpl
def ticketlab_pruners() -> list[Lazy]:
    """Return the pruners; their modules are imported when they are used."""
    return [
        Lazy("movement", "keep the weights that fine-tuning moves away from zero", "ticketlab_movement.movement:Movement"),
        Lazy("soft-movement", "movement pruning with a threshold and a penalty", "ticketlab_movement.soft_movement:SoftMovement"),
    ]


@hookimpl
def ticketlab_recipes() -> Mapping[str, str]:
    """Return the paper's procedure with either pruner: prune while fine-tuning, and use the model that results."""
    return {path.stem: str(path) for path in sorted((Path(__file__).parent / "recipes").glob("*.toml"))}
