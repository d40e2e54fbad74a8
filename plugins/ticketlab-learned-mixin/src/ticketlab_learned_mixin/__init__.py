"""The module that ticketlab finds through the entry point. It does not import torch, so that listing plugins is fast."""

from __future__ import annotations

from ticketlab.plugin import Lazy, hookimpl

TICKETLAB_API = "1.0"


@hookimpl
def ticketlab_losses() -> list[Lazy]:
    """Return the loss; its module is imported when it is used."""
    summary = "product of experts with a trained trust in the bias model for each example"
    return [Lazy("learned-mixin", summary, "ticketlab_learned_mixin.learned_mixin:LearnedMixin")]
