"""Drawing encoder weights anew, inside or outside a ticket: the papers' ablations of initialisation and structure."""

from __future__ import annotations

import torch

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import expand
from ticketlab.tickets.ticket import Ticket

DEVIATION = 0.02
"""BERT's initializer range."""


@torch.no_grad()
def reinitialise(backbone: Backbone, ticket: Ticket, *, inside: bool, seed: int) -> None:
    """Draw from N(0, 0.02) the weights that ``ticket`` keeps (``inside``) or removes; embeddings and layer norms stay."""
    generator = torch.Generator().manual_seed(seed)
    parameters = dict(backbone.base.named_parameters())
    for name, kept in expand(backbone, ticket.masks).items():
        parameter = parameters[name]
        fresh = torch.empty(parameter.shape).normal_(0, DEVIATION, generator=generator).to(parameter.device)
        chosen = kept.to(parameter.device) == inside
        parameter.copy_(torch.where(chosen, fresh, parameter))
