"""Example reweighting: down-weights examples that the bias model gets right."""

from __future__ import annotations

from typing import ClassVar, Literal

from attrs import frozen
from torch import Tensor

from ticketlab.core.settings import setting
from ticketlab.losses.base import Loss, log_likelihood


@frozen
class Reweight(Loss):
    """(1 - beta) x cross-entropy, where beta is the bias model's probability of the label (Liu et al., 2022, Eq. A.3).

    The paper averages over the batch, so batches of biased examples move the model less. The published code divides by the sum of the
    weights (``reduction = "weights"``).
    """

    name: ClassVar[str] = "reweight"
    summary: ClassVar[str] = "cross-entropy, weighted by how wrong a bias model is"
    paper: ClassVar[str] = "Schuster et al., 2019, https://aclanthology.org/D19-1341"
    required_inputs: ClassVar[tuple[str, ...]] = ("bias",)

    reduction: Literal["weights", "batch"] = setting(
        "batch", choices=("weights", "batch"), help="divide the sum of weight x loss by the sum of weights, or by the batch size"
    )

    def per_example(self, logits: Tensor, labels: Tensor, *, bias_log_probs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the plain losses and the weights 1 - beta. See :meth:`Loss.per_example`."""
        losses = -log_likelihood(logits.log_softmax(dim=1), labels)
        return losses, self.batch_weights(labels, bias_log_probs=bias_log_probs)

    def batch_weights(self, labels: Tensor, **loss_inputs: Tensor) -> Tensor:
        """Return the weights 1 - beta. See :meth:`Loss.batch_weights`."""
        return 1 - log_likelihood(loss_inputs["bias_log_probs"], labels).exp().clamp(max=1)
