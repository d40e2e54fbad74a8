"""Re-initialise encoder weights inside or outside a ticket, for the papers' ablations of initialisation and structure."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import expand

DEVIATION = 0.02
"""Standard deviation of the weights: BERT's ``initializer_range``."""


@torch.no_grad()
def reinitialise(backbone: Backbone, masks: Mapping[str, Tensor], *, inside: bool, seed: int) -> None:
    """Re-initialise what ``masks`` keep (``inside``) or remove, as BERT does: weights from N(0, 0.02), biases to 0.

    Embeddings and layer norms are unchanged, and so are biases where the masks are of single weights.
    """
    generator = torch.Generator().manual_seed(seed)
    parameters = dict(backbone.base.named_parameters())
    for name, kept in expand(backbone, masks).items():
        parameter = parameters[name]
        fresh = torch.zeros(parameter.shape)
        if not name.endswith(".bias"):
            fresh.normal_(0, DEVIATION, generator=generator)
        chosen = kept.to(parameter.device) == inside
        parameter.copy_(torch.where(chosen, fresh.to(parameter.device), parameter))
