"""The loss function of masked language modelling: the negative log-probability of the masked words."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.mlm_head import head_of, restricted
from ticketlab.core.callback import Callback
from ticketlab.core.component import Precision
from ticketlab.inference.random_state import derive_seed
from ticketlab.training import batch_part
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import LossOutput, Passes, forward_outputs, weighted
from ticketlab.training.masking import NOT_MASKED, MaskingVocabulary, mask
from ticketlab.training.needed_tokens import NeededTokens


class MaskedLMLoss:
    """The loss of a model with a masked-language-model head.

    The loss of a row is the mean over its masked positions, and its weight is their number, so the loss of a batch is the mean over
    tokens. The masks of a step depend only on the seed and the step, so resuming needs no state.
    """

    def __init__(
        self,
        model: Any,
        vocabulary: MaskingVocabulary,
        *,
        ratio: float = 0.15,
        seed: int = 0,
        precision: Precision = "fp32",
        callbacks: Sequence[Callback] = (),
        outputs: Collection[str] = (),
    ) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.ratio = ratio
        self.seed = seed
        self.precision = precision
        self.callbacks = tuple(callbacks)
        self.outputs = outputs
        self.word_embeddings = model.get_input_embeddings()
        self.embedding_dim = int(self.word_embeddings.embedding_dim)
        self._head = head_of(model)
        self._passes = Passes(self.callbacks)
        self._counts = torch.zeros(0)

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Mask the batch, once for all passes of the step."""
        self._passes.restart()
        masked = mask(batch, self.vocabulary, self.ratio, derive_seed(self.seed, step))
        self._counts = (masked.labels != NOT_MASKED).sum(dim=1).float()
        return masked

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run one forward pass over a masked batch. See :class:`ticketlab.training.loss_function.LossFunction`."""
        self._passes.start()
        chosen = batch.labels != NOT_MASKED
        kept = "hidden_states" in self.outputs
        fewer = contextlib.nullcontext() if kept else self._needed_tokens.only(chosen)
        with fewer, restricted(self._head, chosen):
            logits, states = forward_outputs(self.model, batch, self.precision, self.word_embeddings, delta, hidden_states=kept)
        by_token = nn.functional.cross_entropy(logits, batch.labels[chosen], reduction="none")
        counts = chosen.sum(dim=1).float()
        totals = torch.zeros(chosen.shape, device=logits.device).masked_scatter(chosen, by_token).sum(dim=1)
        losses = totals / counts.clamp(min=1)
        all_weights = weighted(counts, weights)
        loss = (losses * all_weights).sum() / all_weights.sum().clamp(min=torch.finfo(torch.float32).tiny)
        if batch_part.current() is not None:
            if weights is not None:
                batch_part.check_weights("the adversary", weights, None)
            loss = batch_part.balanced(loss, counts, self._counts.to(counts.device))
        return LossOutput(loss, losses, all_weights, logits, states)

    def with_model(self, model: Any) -> MaskedLMLoss:
        """Return the loss of another model. See :class:`ticketlab.training.loss_function.LossFunction`."""
        other = copy.copy(self)
        other.model, other.callbacks, other._passes = model, (), Passes(())
        other.word_embeddings, other._head = model.get_input_embeddings(), head_of(model)
        vars(other).pop("_needed_tokens", None)
        return other

    @functools.cached_property
    def _needed_tokens(self) -> NeededTokens:
        return NeededTokens(self.model, self._head)
