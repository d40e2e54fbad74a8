"""The module that ticketlab finds through the entry point. It does not import torch, so that listing plugins is fast."""

from __future__ import annotations

from pathlib import Path

from ticketlab.plugin import Lazy, hookimpl

TICKETLAB_API = "1.0"


@hookimpl
def ticketlab_adversaries() -> list[Lazy]:
    """Return the adversary; its module is imported when it is used."""
    summary = "another adversary, with an information bottleneck and anchored features"
    return [Lazy("infobert", summary, "ticketlab_infobert.infobert:InfoBert")]


@hookimpl
def ticketlab_recipes() -> dict[str, str]:
    """Return the recipe of the paper, and those of the baseline in the studies of EarlyRobust and ORTicket."""
    return {path.stem: str(path) for path in sorted((Path(__file__).parent / "recipes").glob("*.toml"))}
