"""The last layer of a model on some tokens alone: those whose hidden states the head reads.

All tokens take part in the attention of the last layer, and what follows it (three quarters of the layer's matrix products) works token by
token. A classifier that reads the first token needs no more than that of it.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn

from ticketlab.backbone.adapters import adapter_for
from ticketlab.backbone.backbone import Backbone

Choice = Callable[[Tensor], Tensor]
"""Chooses tokens: hidden states (rows, length, width) to (rows, tokens, width)."""


class LastLayer:
    """The last layer of ``model``, a transformers model.

    ``cut`` is the module of it before which tokens are chosen; None chooses from the output of the layer, which saves nothing.
    """

    def __init__(self, model: Any, cut: nn.Module | None) -> None:
        self._layer = _last(model)
        self._cut = cut

    @contextlib.contextmanager
    def only(self, choose: Choice) -> Iterator[None]:
        """Compute the layer from the cut on for the chosen tokens alone inside the block; it then returns their hidden states."""
        whole: list[Any] = []

        def before(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            whole.append(inputs[0].shape[:2])
            return tuple(map(choose, inputs))

        def after(_: nn.Module, __: Any, output: Any) -> Any:
            hidden, *others = output if isinstance(output, tuple) else (output,)
            if not whole or hidden.shape[:2] == whole[-1]:  # the layer adds what was chosen to what comes from before the cut
                hidden = choose(hidden)
            return (hidden, *others) if isinstance(output, tuple) else hidden

        handles = [self._layer.register_forward_hook(after)]
        if self._cut is not None:
            handles.append(self._cut.register_forward_pre_hook(before))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def possible_cuts(model: Any) -> list[nn.Module]:
    """Return modules of the last layer before which tokens might be chosen, the earliest first; whether they can be is to be tried."""
    norms = [module for module in _last(model).modules() if "Norm" in type(module).__name__]
    first = after_attention(model)
    return norms if first is None else [first, *norms]


def after_attention(model: Any) -> nn.Module | None:
    """Return the module after the attention of the last layer, if it is as in BERT: given the output of attention and the layer's input."""
    module = _last(model).get_submodule(adapter_for(model).attention_output.rpartition(".")[0])
    return module if list(inspect.signature(module.forward).parameters) == ["hidden_states", "input_tensor"] else None


def _last(model: Any) -> nn.Module:
    layer: nn.Module = model.base_model.get_submodule(Backbone(model).layers[-1].path)
    return layer
