"""The module that ticketlab finds through the entry point. It does not import torch, so that listing plugins is fast."""

from __future__ import annotations

from ticketlab.plugin import Lazy, hookimpl

TICKETLAB_API = "1.0"


@hookimpl
def ticketlab_pruners() -> list[Lazy]:
    """Return the pruner; its module is imported when it is used."""
    return [Lazy("snip", "score weights by the effect of their removal on the loss", "ticketlab_snip.snip:Snip")]
