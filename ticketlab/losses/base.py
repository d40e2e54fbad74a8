"""The base class of losses: a loss returns one number and one weight per example."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.component import Component
from ticketlab.core.settings import setting

LossInput = Literal["bias", "teacher", "progress"]
"""An input that a loss may require in addition to logits and labels."""


@frozen
class Loss(Component):
    """Settings of a loss. ``reduction`` sets what the weighted sum over a batch is divided by.

    ``required_inputs`` names the inputs that the loss takes in addition to logits and labels. They are passed by keyword:

    - ``bias``: ``bias_log_probs``, the log-probabilities of a bias model, (rows, classes);
    - ``teacher``: ``teacher_probs``, the probabilities of a teacher, (rows, classes);
    - ``progress``: ``progress``, the fraction of the training steps that are done, from 0 to 1.
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if not (isinstance(cls.required_inputs, tuple) and set(cls.required_inputs) <= set(get_args(LossInput))):
            known = ", ".join(get_args(LossInput))
            raise TypeError(f"{cls.__name__}.required_inputs must be a tuple of some of {known}, not {cls.required_inputs!r}")

    kind: ClassVar[str] = "loss"
    required_inputs: ClassVar[tuple[LossInput, ...]] = ()

    reduction: Literal["weights", "batch"] = setting(
        "weights", choices=("weights", "batch"), help="divide the sum of weight x loss by the sum of weights, or by the batch size"
    )

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **loss_inputs: Any) -> tuple[Tensor, Tensor]:
        """Return the loss and the weight of each example, both (rows,), from logits (rows, classes) and labels.

        Labels are (rows,), or boolean (rows, classes) if an example may have several correct classes. :func:`log_likelihood` takes both.
        """
        raise NotImplementedError

    def reduce(self, losses: Tensor, weights: Tensor) -> Tensor:
        """Return the scalar to minimise. It is 0 if all weights are 0."""
        divisor = weights.sum() if self.reduction == "weights" else torch.tensor(float(len(weights)), device=weights.device)
        return (losses * weights).sum() / divisor.clamp(min=torch.finfo(torch.float32).tiny)


def log_likelihood(log_probs: Tensor, labels: Tensor) -> Tensor:
    """Return the log-probability of the labels, (rows,). For sets of labels it is the log of the summed probability.

    ``log_probs`` is (rows, classes); ``labels`` is (rows,), or boolean (rows, classes).
    """
    if labels.ndim == 1:
        return log_probs.gather(1, labels.unsqueeze(1)).squeeze(1)
    return log_probs.masked_fill(~labels, -torch.inf).logsumexp(dim=1)
