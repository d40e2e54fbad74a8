"""The plugin: what ticketlab finds through the entry point. It imports no torch, so that listing plugins stays quick."""

from __future__ import annotations

from ticketlab.plugin import Lazy, hookimpl


@hookimpl
def ticketlab_pruners() -> list[Lazy]:
    """Register the pruner; its module is imported when it is used."""
    return [Lazy("snip", "score weights by what removing them would do to the loss", "ticketlab_snip.snip:Snip")]
