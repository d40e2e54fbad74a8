"""A perturbation of the word embeddings of a model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from ticketlab.core.errors import PluginError


@contextlib.contextmanager
def perturbed(word_embeddings: nn.Module, delta: Tensor) -> Iterator[None]:
    """Add ``delta`` (rows, length, width) to the output of a model's word embeddings inside the block.

    The model still gets the ids of the tokens, and not embeddings instead: a decoder finds the last token of a padded text by its id.

    :raises PluginError: ``delta`` has another shape, and would be added to several rows, tokens or dimensions.
    """

    def add(module: nn.Module, inputs: Any, embeddings: Tensor) -> Tensor:
        if delta.shape != embeddings.shape:
            raise PluginError(
                f"delta is {tuple(delta.shape)}, and the word embeddings are {tuple(embeddings.shape)}: (rows, length, embedding_dim)"
            )
        return embeddings + delta

    handle = word_embeddings.register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()
