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
    """Re-initialise the weights that ``masks`` keep (``inside``) or remove, from N(0, 0.02). Embeddings and layer norms are unchanged."""
    generator = torch.Generator().manual_seed(seed)
    parameters = dict(backbone.base.named_parameters())
    for name, kept in expand(backbone, masks).items():
        parameter = parameters[name]
        fresh = torch.empty(parameter.shape).normal_(0, DEVIATION, generator=generator).to(parameter.device)
        chosen = kept.to(parameter.device) == inside
        parameter.copy_(torch.where(chosen, fresh, parameter))
