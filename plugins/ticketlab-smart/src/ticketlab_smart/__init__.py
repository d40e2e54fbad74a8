"""The module that ticketlab finds through the entry point. It does not import torch, so that listing plugins is fast."""

from __future__ import annotations

from pathlib import Path

from ticketlab.plugin import Lazy, hookimpl

TICKETLAB_API = "1.0"


@hookimpl
def ticketlab_adversaries() -> list[Lazy]:
    """Return the adversary; its module is imported when it is used."""
    summary = "keep predictions smooth around each example, and close to those of the averaged model"
    return [Lazy("smart", summary, "ticketlab_smart.smart:Smart")]


@hookimpl
def ticketlab_recipes() -> dict[str, str]:
    """Return the recipe of the paper."""
    return {"smart": str(Path(__file__).with_name("smart.toml"))}
