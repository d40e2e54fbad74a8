"""The weight matrices of transformers models: Linear modules, and Conv1D modules, whose weights are transposed.

Everything that depends on which of the two a module is is here; :mod:`ticketlab.backbone.slices` has the arithmetic.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from ticketlab.backbone.slices import Slices

if TYPE_CHECKING:
    from ticketlab.backbone.slices import Resize


class Matrix(nn.Module):
    """The type of a module whose output is its input times a weight matrix: Linear (outputs, inputs) or Conv1D (inputs, outputs)."""

    weight: nn.Parameter
    """The weight, (outputs, inputs) or (inputs, outputs)."""
    bias: nn.Parameter | None
    """The bias, (outputs,); None if there is none."""


def is_transposed(module: nn.Module) -> bool:
    """Return whether a module is a Conv1D, as in GPT-2."""
    from transformers.pytorch_utils import Conv1D

    return isinstance(module, Conv1D)


def is_matrix(module: nn.Module) -> bool:
    """Return whether a module is a plain matrix that can be pruned."""
    return isinstance(module, nn.Linear) or is_transposed(module)


def update_sizes(module: Any) -> None:
    """Set the sizes that a module keeps as attributes to those of its weight, after that was replaced."""
    first, second = module.weight.shape
    if isinstance(module, nn.Embedding):
        module.embedding_dim = second
    elif is_transposed(module):
        module.nx, module.nf = first, second
        original: Any = getattr(type(module), "with_inputs", type(module))
        module.__class__ = original if first else _without_inputs(original)
    else:
        module.out_features, module.in_features = first, second


@functools.cache
def _without_inputs(conv1d: Any) -> type[nn.Module]:
    """Return a subclass of Conv1D for modules without inputs, which the original cannot reshape. The output is the bias."""

    def forward(module: Any, inputs: Tensor) -> Tensor:
        bias: Tensor = module.bias
        return inputs.new_zeros(*inputs.shape[:-1], module.nf) + bias

    facts = {"forward": forward, "with_inputs": conv1d, "__module__": conv1d.__module__, "__doc__": conv1d.__doc__}
    return type(f"Inputless{conv1d.__name__}", (conv1d,), facts)


def resize_module(module: Any, slices: Slices, mask: Tensor, resize: Resize) -> None:
    """Replace the weight of a module, and its bias if the units are outputs, by ``resize(tensor, mask over entries, dimension)``."""
    entries = slices.spread(mask)
    module.weight = _like(module.weight, resize(module.weight, entries, slices.dimension))
    if slices.outputs and getattr(module, "bias", None) is not None:
        module.bias = _like(module.bias, resize(module.bias, entries, 0))
    update_sizes(module)


def _like(parameter: Tensor, values: Tensor) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=parameter.requires_grad)
