"""Learned-mixin+H: a product of experts that learns for each example how far to trust the bias model (Clark et al., 2019, section 3.2)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from attrs import frozen
from torch import Tensor, nn
from torch.nn.functional import softplus

from ticketlab.plugin import Loss, LossRun, TrainingPlan, log_likelihood, sentence_states, setting


@frozen
class LearnedMixin(Loss):
    """Cross-entropy of softmax(log p + g(x) log p_b), plus w_H x the entropy of softmax(g(x) log p_b), where g(x) = softplus(w . h).

    h is the last hidden state of the token that the model classifies from. The weights w of the gate are trained with the model or the
    pruner, and start at 0, so that initially g = log 2 for all examples. Without the entropy the gate may learn to ignore the bias model.
    """

    name: ClassVar[str] = "learned-mixin"
    summary: ClassVar[str] = "product of experts with a trained trust in the bias model for each example"
    paper: ClassVar[str] = "Clark et al., 2019, https://aclanthology.org/D19-1418"
    required_inputs: ClassVar[tuple[str, ...]] = ("bias", "attention_mask")
    required_outputs: ClassVar[tuple[str, ...]] = ("hidden_states",)

    entropy: float = setting(0.03, at_least=0, help="weight of the entropy of the scaled bias model (w_H); the default is that for MNLI")
    lr: float | None = setting(None, above=0, help="learning rate of the gate; none: that of the stage, as in the published code")

    @property
    def learns_at_rate(self) -> bool:
        """Whether the gate is trained at the stage's learning rate."""
        return self.lr is None

    def begin(self, plan: TrainingPlan) -> LossRun:
        """Make the gate, with weights 0; see :meth:`Loss.begin`."""
        return LearnedMixinRun(self, plan.model, torch.zeros(int(plan.model.config.hidden_size), device=plan.model.device))


class LearnedMixinRun(LossRun):
    """Trains the weights of the gate, (width,)."""

    def __init__(self, settings: LearnedMixin, model: nn.Module, weights: Tensor) -> None:
        super().__init__(settings)
        self._mixin = settings
        self._model = model
        self._mean = torch.zeros(())
        self.weights = nn.Parameter(weights)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the weights of the gate, without weight decay."""
        rate = {} if self._mixin.lr is None else {"lr": self._mixin.lr}
        return [{"params": [self.weights], "weight_decay": 0.0, **rate}]

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **loss_inputs: Any) -> tuple[Tensor, Tensor]:
        """Return the losses of :func:`mixin_losses`, (rows,), and ones."""
        states = sentence_states(self._model, loss_inputs["hidden_states"][-1], loss_inputs["attention_mask"])
        gate = softplus(states.float() @ self.weights)
        self._mean = gate.detach().mean()
        losses = mixin_losses(logits, labels, loss_inputs["bias_log_probs"], gate, self._mixin.entropy)
        return losses, torch.ones_like(losses)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the last mean of the gate, which is only reported."""
        return {"mean": self._mean}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore it."""
        self._mean = state["mean"]

    def metrics(self) -> dict[str, float]:
        """Return ``gate``, the mean of the gate over the examples of the last pass."""
        return {"gate": float(self._mean)}


def mixin_losses(logits: Tensor, labels: Tensor, bias_log_probs: Tensor, gate: Tensor, weight: float) -> Tensor:
    """Return -log softmax(log p + g log p_b) of the labels plus ``weight`` x H(softmax(g log p_b)), (rows,), in nats.

    ``logits`` and ``bias_log_probs`` are (rows, classes), ``gate`` is (rows,).
    """
    scaled = (gate.unsqueeze(1) * bias_log_probs).log_softmax(dim=1)
    entropy = -(scaled.exp() * scaled).sum(dim=1)
    return -log_likelihood((logits.log_softmax(dim=1) + scaled).log_softmax(dim=1), labels) + weight * entropy
