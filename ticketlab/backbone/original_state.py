"""The parameters of a module as they are without a parametrization or :mod:`torch.nn.utils.prune`, which rename those that they replace."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

MASK, ORIGINAL = "_mask", "_orig"
"""Suffixes of the buffer and of the parameter in place of a pruned parameter."""


def original_parameter(module: nn.Module, name: str = "weight") -> nn.Parameter:
    """Return a parameter of a module; under a parametrization or torch's pruning, the original one, without computing the other."""
    own = module._parameters
    parameter: object = own.get(name, own.get(f"{name}{ORIGINAL}"))
    if parameter is None:
        parameter = cast(nn.ModuleDict, module.parametrizations)[name].original
    assert isinstance(parameter, nn.Parameter)
    return parameter


def original_state(module: nn.Module) -> dict[str, Tensor]:
    """Return the state dict with every pruned parameter under its own name, with its values before masking, and without the masks."""
    state: dict[str, Tensor] = module.state_dict()
    pruned = {name.removesuffix(MASK) for name in state if name.endswith(MASK) and f"{name.removesuffix(MASK)}{ORIGINAL}" in state}
    if not pruned:
        return state
    plain = {name.removesuffix(ORIGINAL) if name.removesuffix(ORIGINAL) in pruned else name: tensor for name, tensor in state.items()}
    return {name: tensor for name, tensor in plain.items() if not (name.endswith(MASK) and name.removesuffix(MASK) in pruned)}
