"""The contract of a loss: one number and one weight per example."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.component import Component
from ticketlab.core.settings import setting

Need = Literal["bias", "teacher", "progress"]


@frozen
class Loss(Component):
    """Settings of a loss. ``reduction`` says what the weighted sum over a batch is divided by.

    ``needs`` names what the loss looks at besides logits and labels, and is then given by keyword: ``bias`` is ``bias_log_probs``, the
    log-probabilities of a bias model; ``teacher`` is ``teacher_probs``, the probabilities of a teacher; both (rows, classes).
    ``progress`` is the part of the training that is done, 0 to 1.
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if not (isinstance(cls.needs, tuple) and set(cls.needs) <= set(get_args(Need))):
            raise TypeError(f"{cls.__name__}.needs must be a tuple of some of {', '.join(get_args(Need))}, not {cls.needs!r}")

    kind: ClassVar[str] = "loss"
    needs: ClassVar[tuple[Need, ...]] = ()

    reduction: Literal["weights", "batch"] = setting(
        "weights", choices=("weights", "batch"), help="divide the sum of weight x loss by the sum of weights, or by the batch size"
    )

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **loss_inputs: Any) -> tuple[Tensor, Tensor]:
        """Return the loss and the weight of each example, both (rows,), from logits (rows, classes) and labels.

        Labels are (rows,), or (rows, classes) booleans where an example may be any of several classes: :func:`log_likelihood` takes both.
        """
        raise NotImplementedError

    def reduce(self, losses: Tensor, weights: Tensor) -> Tensor:
        """Return the scalar that is minimised; 0 where all weights are."""
        divisor = weights.sum() if self.reduction == "weights" else torch.tensor(float(len(weights)), device=weights.device)
        return (losses * weights).sum() / divisor.clamp(min=torch.finfo(torch.float32).tiny)


def log_likelihood(log_probs: Tensor, labels: Tensor) -> Tensor:
    """Return the log-probability (rows,) of the labels, of any of them where labels are sets: the log of the summed probability.

    ``log_probs`` is (rows, classes); ``labels`` is (rows,), or (rows, classes) booleans.
    """
    if labels.ndim == 1:
        return log_probs.gather(1, labels.unsqueeze(1)).squeeze(1)
    return log_probs.masked_fill(~labels, -torch.inf).logsumexp(dim=1)
