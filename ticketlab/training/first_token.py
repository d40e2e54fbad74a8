"""Passes of a classifier that reads the first token alone, without what it does not read of the last layer."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.hooks import count_hooks
from ticketlab.backbone.last_layer import LastLayer, possible_cuts
from ticketlab.training.perturbation import perturbed

TRIAL = (3, 6)
"""The rows and tokens of the trial. The last row is padded to half."""


class FirstToken:
    """Finds out by a trial whether ``model`` reads the first token alone: then logits and gradients are the same without the others."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def alone(self) -> contextlib.AbstractContextManager[None]:
        """Compute the last layer for the first token alone inside the block, if the model reads no other, and if no hook may."""
        if count_hooks(self._model) or self._layer is None:
            return contextlib.nullcontext()
        return self._layer.only(_first)

    @functools.cached_property
    def _layer(self) -> LastLayer | None:
        modes = [(module, module.training) for module in self._model.modules()]
        self._model.eval()
        try:
            whole = self._gradient(contextlib.nullcontext())
            layers = (LastLayer(self._model, cut) for cut in possible_cuts(self._model))
            return next((layer for layer in layers if self._is_the_same(layer, whole)), None)
        except Exception:  # a model may fail in any way
            return None
        finally:
            for module, training in modes:
                module.training = training

    def _is_the_same(self, layer: LastLayer, whole: tuple[Tensor, Tensor]) -> bool:
        """Return whether logits and gradient are equal within float32 noise to those of all tokens."""
        try:
            found = self._gradient(layer.only(_first))
        except Exception:
            return False
        return all(
            one.shape == other.shape and torch.allclose(one, other, rtol=1e-4, atol=1e-5 * float(other.abs().max()))
            for one, other in zip(found, whole, strict=True)
        )

    def _gradient(self, context: contextlib.AbstractContextManager[None]) -> tuple[Tensor, Tensor]:
        """Return logits, and the gradient of a sum of them with different weights with respect to the word embeddings."""
        embeddings: nn.Embedding = self._model.get_input_embeddings()
        generator = torch.Generator().manual_seed(0)
        device = embeddings.weight.device
        ids = torch.randint(embeddings.num_embeddings, TRIAL, generator=generator).to(device)
        mask = torch.ones_like(ids)
        mask[-1, TRIAL[1] // 2 :] = 0
        delta = torch.zeros(*TRIAL, embeddings.embedding_dim, device=device, requires_grad=True)
        with torch.enable_grad(), context, perturbed(embeddings, delta):
            logits: Tensor = self._model(input_ids=ids, attention_mask=mask).logits
            weights = torch.rand(logits.shape, generator=generator).to(device)
            (gradient,) = torch.autograd.grad((logits * weights).sum(), delta)
        return logits.detach(), gradient


def _first(hidden: Tensor) -> Tensor:
    return hidden[:, :1]
