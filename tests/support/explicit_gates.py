"""Gates on heads and neurons as the papers write them: factors on the inputs of the modules that read the units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ticketlab.backbone.backbone import Backbone


def explicit_gates(model: Any, factors: Mapping[str, Tensor]) -> None:
    """Multiply the units of a model by ``factors``, one for each unit, named as the structured units, in every pass."""
    backbone = Backbone(model)
    for index, layer in enumerate(backbone.layers):
        _scale_inputs(layer.attention_output, factors[f"heads/{index}"], backbone.head_dim)
        _scale_inputs(layer.ffn_out, factors[f"neurons/{index}"], 1)


def _scale_inputs(matrix: Any, factors: Tensor, width: int) -> None:
    matrix.register_forward_pre_hook(lambda _, inputs: (inputs[0] * factors.repeat_interleave(width),))
