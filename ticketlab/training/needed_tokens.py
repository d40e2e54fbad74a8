"""Passes without the tokens that the head of a model does not read: a classifier reads the first, a masked-LM head the masked ones."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.hooks import count_hooks
from ticketlab.backbone.last_layer import Choice, LastLayer, possible_cuts
from ticketlab.backbone.mlm_head import restricted
from ticketlab.core import debugging
from ticketlab.inference.evaluation_mode import evaluation_mode
from ticketlab.training.perturbation import perturbed

TRIAL = (3, 6)
"""The rows and tokens of the trial. The last row is padded to half."""
Context = contextlib.AbstractContextManager[None]


class NeededTokens:
    """Finds out by a trial whether a ``model`` needs no other tokens after the attention of the last layer than those that its head reads.

    That is the first token of each row, or with a ``head`` those that it is restricted to. Then logits and gradients are the same without
    the others.
    """

    def __init__(self, model: Any, head: nn.Module | None = None) -> None:
        self._model, self._head = model, head

    def only(self, read: Tensor | None = None) -> Context:
        """Compute the last layer for the tokens that the head reads, if no hook may read others.

        With a head, ``read`` (rows, length) has those tokens; this does not restrict the head to them, and the caller must.
        """
        if count_hooks(self._model) or self._layer is None:
            return contextlib.nullcontext()
        return self._layer.only(_choice(read))

    @functools.cached_property
    def _layer(self) -> LastLayer | None:
        # The trial needs gradients, and the first pass may be one of an evaluation.
        with torch.inference_mode(False), evaluation_mode(self._model):
            try:
                whole = self._gradient(None)
                layers = (LastLayer(self._model, cut) for cut in possible_cuts(self._model))
                # Without a gradient, as of a head whose weights are zero, nothing tells what the model reads.
                return next((layer for layer in layers if self._is_the_same(layer, whole)), None) if whole[1].any() else None
            except Exception as problem:  # a model may fail in any way
                debugging.print_traceback(problem)
                return None

    def _is_the_same(self, layer: LastLayer, whole: tuple[Tensor, Tensor]) -> bool:
        """Return whether logits and gradient are equal within float32 noise to those of all tokens."""
        try:
            found = self._gradient(layer)
        except Exception as problem:
            debugging.print_traceback(problem)
            return False
        return all(
            one.shape == other.shape and torch.allclose(one, other, rtol=1e-4, atol=1e-5 * float(other.abs().max()))
            for one, other in zip(found, whole, strict=True)
        )

    def _gradient(self, layer: LastLayer | None) -> tuple[Tensor, Tensor]:
        """Return logits, and the gradient of a sum of them with different weights with respect to the word embeddings."""
        embeddings: nn.Embedding = self._model.get_input_embeddings()
        generator = torch.Generator().manual_seed(0)
        device = embeddings.weight.device
        ids = torch.randint(embeddings.num_embeddings, TRIAL, generator=generator).to(device)
        mask = torch.ones_like(ids)
        mask[-1, TRIAL[1] // 2 :] = 0
        read = None if self._head is None else (torch.arange(ids.numel(), device=device).view(TRIAL) % 4 == 1) & mask.bool()
        delta = torch.zeros(*TRIAL, embeddings.embedding_dim, device=device, requires_grad=True)
        fewer = contextlib.nullcontext() if layer is None else layer.only(_choice(read))
        head = contextlib.nullcontext() if self._head is None or read is None else restricted(self._head, read)
        with torch.enable_grad(), fewer, head, perturbed(embeddings, delta):
            logits: Tensor = self._model(input_ids=ids, attention_mask=mask).logits
            weights = torch.rand(logits.shape, generator=generator).to(device)
            (gradient,) = torch.autograd.grad((logits * weights).sum(), delta)
        return logits.detach(), gradient


def _choice(read: Tensor | None) -> Choice:
    return (lambda hidden: hidden[:, :1]) if read is None else (lambda hidden: hidden[read][None])
