"""A model at one time, to find what a component has changed on it."""

from __future__ import annotations

from typing import Any

import torch
from attrs import frozen
from torch import Tensor
from torch.nn.utils import parametrize

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


@frozen(eq=False)
class ModelSnapshot:
    """Copies of the tensors of a model by name, with the objects themselves, and what is attached to its modules."""

    tensors: dict[str, Tensor]
    values: dict[str, Tensor]
    trained: dict[str, bool]
    training: dict[str, bool]
    attached: dict[str, int]

    @classmethod
    def of(cls, model: Any) -> ModelSnapshot:
        """Return the present state of a model."""
        tensors = _tensors(model)
        return cls(
            tensors,
            {name: tensor.detach().clone() for name, tensor in tensors.items()},
            {name: tensor.requires_grad for name, tensor in tensors.items()},
            {name: module.training for name, module in model.named_modules()},
            _attached(model),
        )

    def changed_weight(self) -> str:
        """Return the name of the first tensor that has other bits now; empty if none has."""
        return next((name for name, tensor in self.tensors.items() if not equal_bits(tensor, self.values[name])), "")

    def changed_structure(self, model: Any) -> str:
        """Return what is on the model now and was not before, or the reverse; empty if nothing is. Weights may have other bits."""
        now = _tensors(model)
        other = sorted(now.keys() ^ self.tensors.keys()) or [name for name, tensor in now.items() if tensor is not self.tensors[name]]
        if other:
            return f"the parameter `{other[0]}`"
        attached = _attached(model)
        left = next((path for path in attached if attached[path] != self.attached.get(path)), None)
        return "" if left is None else f"a hook or a parametrization of `{left or type(model).__name__}`"

    def changed_mode(self, model: Any) -> str:
        """Return the first parameter that is trained and was not, or module in another mode, or the reverse; empty if there is none."""
        for name, tensor in self.tensors.items():
            if tensor.requires_grad != self.trained[name]:
                return f"requires_grad of `{name}`"
        for name, module in model.named_modules():
            if module.training != self.training.get(name, module.training):
                return f"the training mode of `{name or type(model).__name__}`"
        return ""


def equal_bits(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape, type and bits; NaN equals NaN, and 0 is not -0."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    first, second = (tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8) for tensor in (one, other))
    return torch.equal(first, second)


def _tensors(model: Any) -> dict[str, Tensor]:
    return dict([*model.named_parameters(), *model.named_buffers()])


def _attached(model: Any) -> dict[str, int]:
    """Return the number of hooks and parametrized tensors of each module, without the hooks that transformers itself attaches."""
    found = {}
    for path, module in model.named_modules():
        hooks = [hook for name in HOOKS for hook in getattr(module, name).values()]
        own = sum(not str(getattr(hook, "__module__", "")).startswith("transformers.") for hook in hooks)
        found[path] = own + (len(module.parametrizations) if parametrize.is_parametrized(module) else 0)
    return found
