"""The head of a masked language model, and its passes at some tokens alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from ticketlab.backbone.adapters import adapter_for
from ticketlab.core.errors import UsageError


def head_of(model: Any) -> nn.Module:
    """Return the first module of a model's masked-language-model head.

    :raises UsageError: the model has none of the modules that its adapter names.
    """
    adapter = adapter_for(model)
    for path in adapter.mlm_heads:
        with contextlib.suppress(AttributeError):
            head: nn.Module = model.get_submodule(path)
            return head
    raise UsageError(
        f"{type(model).__name__} has no masked-language-model head at the paths that the adapter `{adapter.name}` names (`mlm_heads`)"
    )


@contextlib.contextmanager
def restricted(head: nn.Module, chosen: Tensor) -> Iterator[None]:
    """Inside the block, pass a head only the hidden states of the ``chosen`` positions (rows, length), as (positions, width).

    In a small model, the logits of all positions over the whole vocabulary would be most of the work. Where the last layer has chosen them
    already, the states are (1, positions, width).
    """

    def gather(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden, *others = inputs
        return (hidden[chosen] if hidden.shape[:2] == chosen.shape else hidden[0], *others)

    handle = head.register_forward_pre_hook(gather)
    try:
        yield
    finally:
        handle.remove()
