"""Simulates a device without double precision on the CPU: a tensor may only become double after it was moved off the device."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from ticketlab.backbone import device


class OnHost(Tensor):
    """A tensor that was moved to the CPU."""


class WithoutFloat64(TorchFunctionMode):
    """Refuses every result in double precision whose inputs have not been moved to the CPU; ``allowed`` counts those that have."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function is Tensor.cpu:
            return result.as_subclass(OnHost)
        inputs = [value for value in pytree.tree_leaves((args, kwargs or {})) if isinstance(value, Tensor)]
        if isinstance(result, Tensor) and result.dtype == torch.float64 and inputs:
            if not any(isinstance(value, OnHost) or value.dtype == torch.float64 for value in inputs):
                raise TypeError("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64")
            self.allowed += 1
        return result


def lacking_float64(monkeypatch: Any) -> WithoutFloat64:
    """Have a device that lacks double precision; use the result as a context manager."""
    monkeypatch.setattr(device, "WITHOUT_FLOAT64", ("cpu",))
    return WithoutFloat64()
