"""Movement pruning: the weights with the highest scores are kept, at a sparsity that rises (Sanh, Wolf and Rush, 2020)."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.plugin import Search, TrainingPlan, setting
from ticketlab_movement.ranking import Scope, highest
from ticketlab_movement.search import MovementPruner, MovementSearch, scores_of


@frozen
class Movement(MovementPruner):
    """Train all weights and a score for each weight of the encoder's matrices; only those with the highest scores are in the model.

    The gradient of a score is that of the masked weight, times the weight, so a weight that moves away from zero has a rising score. Scores
    start at 0. The sparsity is 0 in the warm-up, rises by a cubic schedule, and stays at ``sparsity`` in the cool-down. Removed weights
    keep their values, and return with them if their scores rise again.

    The trained weights with the ticket applied are the result of the paper, and ``evaluate`` and ``attack`` may use the search as their
    model. A ticket that is drawn may also be retrained from the pre-trained weights.
    """

    name: ClassVar[str] = "movement"
    summary: ClassVar[str] = "keep the weights that fine-tuning moves away from zero"
    paper: ClassVar[str] = "Sanh et al., 2020, https://arxiv.org/abs/2005.07683"
    has_penalty: ClassVar[bool] = False

    scope: Scope = setting("local", choices=("global", "local"), help="rank all weights together, or each matrix separately")
    update_steps: int = setting(1, at_least=1, unit="steps", help="steps between two updates of the masks; the paper has 1")

    def ranks(self) -> Scope:
        """Return the scope of the ranking."""
        return self.scope

    def begin(self, plan: TrainingPlan) -> Search:
        """Put a mask on each matrix of the encoder; see :meth:`Pruner.begin`.

        :raises SettingError: the warm-up and the cool-down are longer than the search.
        """
        return RankedSearch(self, plan)


class RankedSearch(MovementSearch):
    """Removes the exact number of weights at each update of the masks."""

    def __init__(self, settings: Movement, plan: TrainingPlan) -> None:
        super().__init__(settings, plan, final=plan.sparsity_of("weights"))
        self._scope: Scope = settings.scope
        self._interval = settings.update_steps

    def update(self, step: int) -> None:
        """Rank the scores if it is due: every ``update_steps``, and when the schedule ends."""
        sparsity = self._schedule.at(step)
        if sparsity == 0 or not (step % self._interval == 0 or step == self._schedule.end):
            return
        for name, mask in highest(scores_of(self.matrices), sparsity, self._scope).items():
            self.matrices[name].mask.copy_(mask)
