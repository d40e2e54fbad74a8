"""Checks of what an adversary and callbacks return in a step of a training."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.errors import PluginError

OWN_METRICS = ("step", "loss")
"""The numbers of the loop itself in each record of the history."""


def check_step(title: str, loss: object, parameters: Sequence[Tensor]) -> None:
    """Check what an adversary did in its first step.

    :raises PluginError: it returned no scalar, or no parameter of the optimizer has a gradient. A training that trains nothing is fine.
    """
    if not (isinstance(loss, Tensor) and loss.numel() == 1 and not loss.requires_grad):
        found = f"a tensor {tuple(loss.shape)}{' with its graph' * loss.requires_grad}" if isinstance(loss, Tensor) else type(loss).__name__
        raise PluginError(f"{title}: the adversary returned {found}, not the loss as a detached scalar")
    if parameters and all(parameter.grad is None for parameter in parameters):
        raise PluginError(f"{title}: the first step computed no gradients; `backward` of an adversary calls torch.autograd.backward(loss)")


def checked_metrics(callback: Callback) -> dict[str, float]:
    """Return the metrics of a callback.

    :raises PluginError: one is no number, or has the name of a number that the history has anyway.
    """
    found = callback.metrics()
    for name, value in found.items():
        if name in OWN_METRICS or name.startswith("dev_"):
            raise PluginError(f"{type(callback).__name__}.metrics returned `{name}`, which the history has already; choose another name")
        if not isinstance(value, (int, float)):
            raise PluginError(f"{type(callback).__name__}.metrics returned `{name}`, which is {type(value).__name__}; use float(value)")
    return found
