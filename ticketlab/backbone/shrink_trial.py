"""A trial of shrinking: whether models of a plugin's family can be shrunk, found out before anything is trained.

The families of ticketlab itself are tested with ticketlab, and not tried.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.adapters import Adapter, adapter_of, source_of
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import zero_removed
from ticketlab.backbone.resizing import check_names_attention, cut_units
from ticketlab.core import registry
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from transformers import PretrainedConfig

TOLERANCE = 1e-3
"""The largest allowed difference between shrunk and masked, relative to the effect of the mask."""
LENGTH = 6
"""Tokens of a row of the trial."""
_PROBLEMS: dict[tuple[Adapter, str], str] = {}
"""What the trials in this process found, by adapter and config."""


def check_can_shrink(config: PretrainedConfig) -> None:
    """Check that a model with this config, of a plugin's family, computes the same shrunk as masked.

    It is tried once in a process with random weights at the full size, which takes about as long as loading the model.

    :raises UsageError: the adapter names no attention module, names something that the model lacks, or the shrunk model fails or computes
        something else; the message names the adapter and where it comes from.
    """
    adapter = adapter_of(config.model_type)
    check_names_attention(adapter)
    if registry.current().source(adapter).is_built_in:
        return
    full = copy.deepcopy(config)
    full.__class__ = getattr(type(config), "full_class", type(config))
    key = (adapter, full.to_json_string(use_diff=False))
    if key not in _PROBLEMS:
        _PROBLEMS[key] = _problem(full)
    if _PROBLEMS[key]:
        raise UsageError(
            f"the adapter `{adapter.name}` of {source_of(adapter)} cannot shrink `{full.model_type}` models: {_PROBLEMS[key]}; "
            "correct the adapter, or hold the masks instead of shrinking (`shrink = false`, or export as `dense`)"
        )


def _problem(config: PretrainedConfig) -> str:
    """Return why shrinking fails, or an empty string."""
    try:
        with torch.random.fork_rng(devices=[]), torch.inference_mode():
            torch.default_generator.manual_seed(0)
            return _compare(config)
    except UsageError as problem:
        return str(problem)
    except Exception as problem:  # the code of a model that was resized wrongly may raise anything
        message = " ".join(str(problem).split())[:150]
        return f"a shrunk model fails with {type(problem).__name__}: {message}"


def _compare(config: Any) -> str:
    from transformers import AutoModel

    model = AutoModel.from_config(config).eval()
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.05)  # biases and layer norms count too
    backbone = Backbone(model)
    check_config(backbone)
    ids = torch.randint(5, model.get_input_embeddings().num_embeddings, (2, LENGTH))
    whole = _hidden(model, ids)
    for masks in _masks(backbone):
        masked, small = copy.deepcopy(model), copy.deepcopy(model)
        zero_removed(Backbone(masked), masks)
        cut_units(Backbone(small), masks, masks)
        reference = _hidden(masked, ids)
        effect = float((whole - reference).abs().max())
        difference = float((_hidden(small, ids) - reference).abs().max())
        if not difference <= TOLERANCE * effect:  # NaN too
            return f"a shrunk model computes something else than a masked one (a difference of {difference:.2g}; masks change {effect:.2g})"
    return ""


def check_config(backbone: Backbone) -> None:
    """Check that the sizes that an adapter reads from the config of a full-size model are those of its modules, as shrunk configs need.

    :raises UsageError: they are not.
    """
    adapter, config = backbone.adapter, backbone.model.config
    units = backbone.units()
    for method, actual in (
        ("num_layers", len(backbone.layers)),
        ("num_heads", units["heads/0"][0]),
        ("num_neurons", units["neurons/0"][0]),
    ):
        try:
            stated = getattr(adapter, method)(config)
        except (AttributeError, TypeError, ValueError) as problem:
            raise UsageError(f"its `{method}` fails on the config: {problem}") from None
        if stated != actual:
            raise UsageError(f"its `{method}` of the config is {stated}, and the model has {actual}")


def _masks(backbone: Backbone) -> list[dict[str, Tensor]]:
    """Return two tickets: every other unit is kept; and the first layer has no heads, and the last one no neurons."""
    units = {name: shape for name, shape in backbone.units().items() if not name.startswith("weights/")}
    some = {name: torch.arange(*shape) % 2 == 1 for name, shape in units.items()}
    empty = ("heads/0", f"neurons/{len(backbone.layers) - 1}")
    return [some, some | {name: torch.zeros_like(some[name]) for name in empty}]


def _hidden(model: nn.Module, ids: Tensor) -> Tensor:
    hidden: Tensor = model(input_ids=ids)[0]
    return hidden
