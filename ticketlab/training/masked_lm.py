"""The loss function of masked language modelling: the negative log-probability of the masked words."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.adapters import adapter_for
from ticketlab.core.callback import Callback
from ticketlab.core.component import Precision
from ticketlab.core.errors import UsageError
from ticketlab.inference.random_state import derive_seed
from ticketlab.training import batch_part
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import LossOutput, Passes, forward_outputs, weighted
from ticketlab.training.masking import NOT_MASKED, MaskingVocabulary, mask


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
        with restricted(self._head, chosen):
            kept = "hidden_states" in self.outputs
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
        return other


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

    In a small model, the logits of all positions over the whole vocabulary would be most of the work.
    """

    def gather(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden, *others = inputs
        return (hidden[chosen], *others)

    handle = head.register_forward_pre_hook(gather)
    try:
        yield
    finally:
        handle.remove()
