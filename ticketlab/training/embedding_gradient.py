"""The gradient of the word embeddings in memory that is kept from step to step.

On a CPU, each backward pass makes a new gradient of the size of all word embeddings, of which a batch uses few: of a small encoder a
seventh of a step is spent on getting this memory from the system. Here a pass gives the gradients of its tokens alone, which are added to
a tensor that is reused. It holds the same bits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize


@contextlib.contextmanager
def reused(model: Any) -> Iterator[None]:
    """Reuse the memory of the gradient of a model's word embeddings inside the block, where that is possible: on a CPU, in a plain module.

    After each step, the gradient is to be set to None. A reference to the gradient of an earlier step then sees that of a later one.
    """
    embeddings = model.get_input_embeddings()
    if not _is_plain(embeddings):
        yield
        return
    kept: list[Tensor] = []

    def make_dense(weight: Tensor) -> None:
        gradient = weight.grad
        assert gradient is not None, "it has just been accumulated"
        if gradient.is_sparse:
            if not kept:
                kept.append(torch.empty_like(weight, requires_grad=False))
            weight.grad = kept[0].zero_().index_add_(0, gradient._indices()[0], gradient._values())

    weight: nn.Parameter = embeddings.weight
    handle = weight.register_post_accumulate_grad_hook(make_dense)  # type: ignore[no-untyped-call]
    embeddings.sparse = True
    try:
        yield
    finally:
        embeddings.sparse = False
        handle.remove()


def _is_plain(embeddings: Any) -> bool:
    """Return whether the module looks up rows of a trained parameter, whose gradient nothing else sees before it is collected."""
    if not isinstance(embeddings, nn.Embedding) or parametrize.is_parametrized(embeddings):
        return False
    weight = embeddings.weight
    settings = embeddings.sparse, embeddings.scale_grad_by_freq, embeddings.max_norm is not None
    hooks = weight._backward_hooks, weight._post_accumulate_grad_hooks
    return weight.requires_grad and weight.device.type == "cpu" and not any(settings) and not any(hooks)
