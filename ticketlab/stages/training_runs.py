"""The objective, the loss and the adversary of one training.

Each is begun once, when it is first needed, and given to the loop and to pruners that score.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from attrs import frozen

from ticketlab.adversaries.base import Adversary, AdversaryRun
from ticketlab.core.callback import Callback, with_nested
from ticketlab.core.component import with_components
from ticketlab.core.errors import PluginError
from ticketlab.inference import random_state
from ticketlab.inference.random_state import derive_seed
from ticketlab.losses.base import Loss, LossRun
from ticketlab.objectives.base import Objective, TrainingParts, TrainingSession
from ticketlab.training.begin import begin
from ticketlab.training.loss_function import TrainingLoss
from ticketlab.training.plan import TrainingPlan
from ticketlab.training.scoring import Scoring


@frozen(eq=False)
class TrainingRuns:
    """What takes part in a training of ``session`` besides a pruner and a stop rule. ``loss`` is None if the objective uses no task.

    ``outputs`` are required by any component of the stage.
    """

    session: TrainingSession
    objective_settings: Objective
    adversary_settings: Adversary
    loss_settings: Loss | None
    outputs: frozenset[str]
    steps: int
    batch_size: int
    seed: int
    accumulate: int = 1

    def plan(self, part: str, sparsity: float = 0.0, *, scores: bool = False) -> TrainingPlan:
        """Return the plan of the training for one component. ``part`` names it, for its seed; ``scores`` lets it score from batches."""
        return TrainingPlan(
            self.session.model, self.steps, derive_seed(self.seed, part), sparsity, scoring=(lambda: self._scoring) if scores else None
        )

    @functools.cached_property
    def loss(self) -> LossRun | None:
        """The running loss; None if the objective uses no task."""
        settings = self.loss_settings
        return None if settings is None else begin(settings, self.plan("loss"), LossRun, checked=type(settings).begin is not Loss.begin)

    @functools.cached_property
    def adversary(self) -> AdversaryRun:
        """The running adversary."""
        settings = self.adversary_settings
        return begin(settings, self.plan("adversary"), AdversaryRun, checked=type(settings).begin is not Adversary.begin)

    @functools.cached_property
    def objective(self) -> Sequence[Callback]:
        """The callbacks of the session, which have begun."""
        plan = self.plan("objective")
        with random_state.isolated(plan.seed):
            return tuple(self.session.begin(plan))

    @functools.cached_property
    def callbacks(self) -> Sequence[Callback]:
        """The callbacks of all three, with those that they use. The objective begins first, then the loss."""
        return list(with_nested([run for run in (*self.objective, self.loss, self.adversary) if run is not None]))

    def loss_function(self, callbacks: Sequence[Callback]) -> TrainingLoss:
        """Return the loss function of the session, which calls ``callbacks`` before each pass."""
        return self.session.loss_function(TrainingParts(callbacks, self.loss, self.outputs))

    def parameters(self) -> int:
        """Return the number of trained parameters of all three, which are not the model's."""
        return sum(tensor.numel() for run in self.callbacks for group in run.parameter_groups() for tensor in group["params"])

    def check_rates(self) -> None:
        """Check that every group of parameters has its own learning rate, because the stage's is not used.

        :raises PluginError: one has none.
        """
        runs = (self.loss_settings, [self.loss] if self.loss else []), (self.adversary_settings, [self.adversary])
        for settings, begun in ((self.objective_settings, self.objective), *runs):
            groups = [group for part in with_nested(begun) for group in part.parameter_groups()]
            if settings is not None and not settings.learns_at_rate and any("lr" not in group for group in groups):
                raise PluginError(
                    f"the {settings.kind} `{settings.name}` trains parameters at the learning rate of the stage: "
                    "it declares `learns_at_rate`, or gives each group its own `lr`"
                )

    @functools.cached_property
    def _scoring(self) -> Scoring:
        callbacks = self.callbacks  # begun before the loss function is made
        adversaries = [part for part in with_components(self.adversary_settings) if isinstance(part, Adversary)]
        return Scoring(
            self.loss_function(()),
            self.adversary,
            callbacks,
            self.session.rows,
            self.batch_size,
            start_step=max(part.start_step for part in adversaries),
            accumulate=self.accumulate,
        )
