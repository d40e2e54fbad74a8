"""AdamW with the parameter groups of transformers' Trainer: no weight decay on biases and layer norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ticketlab.core.callback import Callback


def weight_groups(model: Any, lr: float, weight_decay: float) -> list[dict[str, Any]]:
    """Return the optimizer groups of a model's trainable parameters; empty if all are frozen."""
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    decayed = [parameter for parameter in trainable if parameter.ndim >= 2]
    others = [parameter for parameter in trainable if parameter.ndim < 2]
    groups = [
        {"params": decayed, "lr": lr, "weight_decay": weight_decay},
        {"params": others, "lr": lr, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def adamw(model: Any, callbacks: Sequence[Callback], lr: float, weight_decay: float) -> torch.optim.AdamW:
    """Return AdamW over a model's trainable parameters and those of the callbacks."""
    groups = weight_groups(model, lr, weight_decay)
    groups += [{"weight_decay": weight_decay, **group} for callback in callbacks for group in callback.parameter_groups()]
    return torch.optim.AdamW(groups or [{"params": []}], lr=lr, fused=True)  # a search may train nothing and only read gradients
