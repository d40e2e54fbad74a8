"""Soft movement pruning: weights are removed by a threshold, and a penalty lowers the scores (Sanh, Wolf and Rush, 2020)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.plugin import Search, TrainingPlan, setting
from ticketlab_movement.ranking import highest
from ticketlab_movement.search import MovementPruner, MovementSearch, removed_fraction, scores_of


@frozen
class SoftMovement(MovementPruner):
    """Movement pruning in which a weight is kept while sigmoid(S) exceeds a threshold tau, so that matrices differ in sparsity.

    Minimises the objective + lambda x R, where R averages the means of sigmoid(S) of the matrices, as the published code does. Scores start
    at 0. Both tau and lambda are 0 in the warm-up, rise by the cubic schedule, and stay at ``threshold`` and ``penalty`` in the cool-down.

    The penalty decides how many weights the threshold removes; the history has that fraction as ``threshold_sparsity``. With ``exact``, the
    masks of the cool-down keep the highest scores instead, as many as the requested sparsity leaves, so that the weights are trained under
    the ticket that is drawn. Where the penalty leads to that sparsity, these are the masks of the threshold. Without ``exact``, as in the
    paper, choose the penalty and the sparsity together: a ticket of another sparsity than the threshold's is one that was not trained.
    """

    name: ClassVar[str] = "soft-movement"
    summary: ClassVar[str] = "movement pruning with a threshold and a penalty"
    paper: ClassVar[str] = "Sanh et al., 2020, https://arxiv.org/abs/2005.07683"

    threshold: float = setting(0.1, above=0, below=1, help="final threshold of sigmoid(S) (tau)")
    penalty: float = setting(400.0, at_least=0, help="final weight of the mean of sigmoid(S) in the loss (lambda)")

    exact: bool = setting(True, help="in the cool-down, keep the highest scores at exactly the requested sparsity; false: as in the paper")

    def ranks(self) -> Literal["global"]:
        """Return the scope of the threshold."""
        return "global"

    def begin(self, plan: TrainingPlan) -> Search:
        """Put a mask on each matrix of the encoder; see :meth:`Pruner.begin`.

        :raises SettingError: the warm-up and the cool-down are longer than the search.
        """
        return ThresholdSearch(self, plan)


class ThresholdSearch(MovementSearch):
    """Removes the weights whose scores are not above the threshold of the step."""

    def __init__(self, settings: SoftMovement, plan: TrainingPlan) -> None:
        super().__init__(settings, plan, final=settings.threshold)
        self._settings = settings
        self._sparsity = plan.sparsity_of("weights")

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Compare the scores with the threshold, or in the cool-down rank them, if it is ``exact``."""
        ranked = self._settings.exact and step >= self._schedule.end
        masks = highest(scores_of(self.matrices), self._sparsity, "global") if ranked else self._above(self._schedule.at(step))
        for name, mask in masks.items():
            self.matrices[name].mask.copy_(mask)

    @torch.no_grad()
    def add_penalty(self) -> None:
        """Add the gradient of lambda x R."""
        ramp = self._schedule.at(self._step) / self._settings.threshold
        for matrix in self.matrices.values():
            slope = penalty_slope(matrix.scores, self._settings.penalty * ramp / (len(self.matrices) * matrix.scores.numel()))
            matrix.scores.grad = slope if matrix.scores.grad is None else matrix.scores.grad.add_(slope)

    def metrics(self) -> dict[str, float]:
        """Return the ``sparsity`` of the masks, ``threshold_sparsity``, and ``penalty``: R, without its weight lambda."""
        means = [float(matrix.scores.detach().sigmoid().mean()) for matrix in self.matrices.values()]
        above = self._above(self._schedule.at(self._step))
        return super().metrics() | {"threshold_sparsity": removed_fraction(above.values()), "penalty": sum(means) / len(means)}

    def _above(self, threshold: float) -> dict[str, Tensor]:
        return {name: score.sigmoid() > threshold for name, score in scores_of(self.matrices).items()}


def penalty_slope(scores: Tensor, weight: float) -> Tensor:
    """Return the derivatives of ``weight`` x sum of sigmoid(scores), with the shape of ``scores``."""
    opened = scores.sigmoid()
    return torch.addcmul(opened, opened, opened, value=-1).mul_(weight)
