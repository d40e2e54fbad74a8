"""IMP: iterative magnitude pruning, with and without rewinding the weights.

SRNets (Liu et al., 2022, supplement, Algorithm 1), after Frankle and Carbin (2019) and Chen et al. (2020).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.backbone.masks import HoldMaskCallback
from ticketlab.core.setting_values import parse_ratio
from ticketlab.core.settings import setting
from ticketlab.pruners.base import Pruner, Search, sparsity_metrics, weight_units
from ticketlab.pruners.schedule import count_of, prunings, step_at
from ticketlab.pruners.sizes import weight_sizes
from ticketlab.tickets.draw import SCOPES, Scope, draw
from ticketlab.training.plan import TrainingPlan

if TYPE_CHECKING:
    from torch.optim import Optimizer

LEAST_AMOUNT = 0.004
"""The smallest amount: the index of a pruning must fit a byte."""
Rewinding = Literal["never", "rounds", "end"]


@frozen
class IterativePruner(Pruner):
    """The settings of iterative pruning, whatever it removes: weights, or heads and neurons."""

    trains_weights: ClassVar[bool] = True
    needs_sparsity: ClassVar[bool] = True
    leaves_model: ClassVar[bool] = True
    has_penalty: ClassVar[bool] = False

    amount: float = setting(
        0.1,
        at_least=LEAST_AMOUNT,
        at_most=1,
        unit="fraction",
        converter=parse_ratio,
        help="fraction of the original weights (or heads, or neurons) that each pruning removes",
    )
    interval: float = setting(
        0.1, above=0, at_most=1, unit="fraction of the steps", converter=parse_ratio, help="fraction of the training between two prunings"
    )
    scope: Scope = setting("local", choices=SCOPES, help="rank all weights together, or each matrix separately")
    restart: bool = setting(False, help="reset the optimizer and restart the learning rates at each pruning, as the published code does")

    @property
    def rewinding(self) -> Rewinding:
        """When the weights are rewound to their initial values."""
        return "never"

    @property
    def restarts_after(self) -> float | None:
        """The interval if learning rates restart, else None."""
        return self.interval if self.restart else None

    def ranks(self) -> Scope:
        """Return the scope of the prunings."""
        return self.scope

    def check(self, sparsity: float) -> None:
        """Check that the prunings fit into the training; see :meth:`Pruner.check`."""
        prunings(sparsity, self.amount, self.interval, steps=1)


@frozen
class IMP(IterativePruner):
    """Train all weights, and at every interval permanently remove some of the smallest, up to the requested sparsity.

    The first pruning is done before the first step. The search ends one interval after the last pruning, or after its last epoch. With
    ``restart``, every later pruning resets the optimizer and restarts the learning rate schedule, as in the published code: each round
    then trains like the first interval of a whole search, including warm-up (the published scripts use none). Without it, one schedule
    covers the whole search.
    """

    name: ClassVar[str] = "imp"
    summary: ClassVar[str] = "train the weights, and remove the smallest step by step"
    paper: ClassVar[str] = "Liu et al., 2022, https://arxiv.org/abs/2210.05211"
    version: ClassVar[int] = 2

    pooler: bool = setting(False, help="prune the pooler's matrix too")
    classifier: bool = setting(True, help="prune the classifier's matrix too, as the paper does")

    def groups(self) -> tuple[str, ...]:
        """Return the only group: single weights."""
        return ("weights",)

    def begin(self, plan: TrainingPlan) -> IterativeSearch:
        """Start a search, and prune the backbone for the first time.

        :raises SettingError: the prunings do not fit into the training.
        """
        names = weight_units(plan.backbone, pooler=self.pooler, classifier=self.classifier)
        return IterativeSearch(self, plan, functools.partial(weight_sizes, plan.backbone, names))


@frozen
class IMPRewind(IMP):
    """Like ``imp``, but to find only a mask: the search ends at the last pruning, and all weights are rewound to their initial values.

    With ``rewind = "rounds"`` the encoder is also rewound at each pruning, so each round trains the pre-trained weights under the current
    mask ("the subnetwork parameters are rewound to the pre-trained values after (iii)", section 3.2.1, where (iii) is "re-training the
    pruned subnetwork"). The head has no pre-trained values and keeps training. With ``"end"`` the weights are rewound once, as in
    Algorithm 1 of the supplement.
    """

    name: ClassVar[str] = "imp-rewind"
    summary: ClassVar[str] = "like imp, and rewind the weights to their initial values"

    rewind: Literal["rounds", "end"] = setting(
        "rounds", choices=("rounds", "end"), help="rewind the encoder at each pruning (section 3.2.1), or only at the end (Algorithm 1)"
    )

    @property
    def rewinding(self) -> Rewinding:
        """When the weights are rewound."""
        return self.rewind


class IterativeSearch(Search):
    """Zeroes the removed weights themselves, without hooks or parametrizations, and keeps them at zero.

    ``sizes`` returns the magnitude of each unit by its name, on the model's device. The prunings are those of the highest sparsity of the
    groups of units; a group with a lower one takes part until it is reached. Restarts and rewinding happen before the step that follows a
    pruning, so that an evaluation between the two sees the trained weights.

    :raises SettingError: the prunings do not fit into the training.
    """

    def __init__(self, settings: IterativePruner, plan: TrainingPlan, sizes: Callable[[], Mapping[str, Tensor]]) -> None:
        self._settings = settings
        self._backbone = plan.backbone
        self._sizes = sizes
        self._target = {group: plan.sparsity_of(group) for group in settings.groups()}
        highest = max(self._target.values())
        self._prunings = prunings(highest, settings.amount, settings.interval, plan.steps)
        rounds = count_of(highest, settings.amount) - (settings.rewinding != "never")
        self._end = min(plan.steps, step_at(rounds * settings.interval, plan.steps)) if self._prunings else plan.steps
        self._done = 0  # prunings
        self._optimizer: Optimizer | None = None
        self._gone = {name: torch.zeros_like(size, dtype=torch.uint8) for name, size in sizes().items()}
        kept = plan.model.named_parameters() if settings.rewinding != "never" else ()
        self._start = {name: value.detach().clone() for name, value in kept}
        self._later_prunings = {pruning.step for pruning in self._prunings if 0 < pruning.step < self._end}
        self._held = HoldMaskCallback(self._backbone, {})
        self._prune(0)

    @property
    def ready(self) -> bool:
        """Whether the last pruning is done."""
        return self._done == len(self._prunings)

    def on_train_start(self, optimizer: Optimizer) -> None:
        """Keep the optimizer, whose state a pruning may have to reset."""
        self._optimizer = optimizer

    def schedule_start(self, step: int) -> int:
        """Return the step of the last pruning if learning rates restart there, else 0."""
        return max((done for done in self._later_prunings if done <= step), default=0) if self._settings.restart else 0

    def on_step_start(self, step: int) -> None:
        """After a pruning, rewind the encoder and reset the optimizer, as configured."""
        if step not in self._later_prunings:
            return
        if self._settings.rewinding == "rounds":
            inside = {id(parameter) for parameter in self._backbone.base.parameters()}
            self._rewind({name for name, value in self._backbone.model.named_parameters() if id(value) in inside})
            self._held.reapply()
        if self._settings.restart and self._optimizer is not None:
            self._optimizer.state.clear()

    def on_after_backward(self) -> None:
        """Zero the gradients of removed weights."""
        self._held.mask_gradients()

    def on_step_end(self, step: int) -> bool:
        """Zero the removed weights again, and prune if it is due. Return True at the end, which is soon after the last pruning, if any."""
        self._held.reapply()
        self._prune(step + 1)
        return step + 1 >= self._end

    def state_dict(self) -> dict[str, Tensor]:
        """Return the number of prunings done, and for each unit the index of the pruning that removed it (0: it is kept)."""
        return {"done": torch.tensor(self._done), **self._gone}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` returned. The weights, including the zeros, are in the optimizer's groups."""
        self._done = int(state["done"])
        for name, gone in self._gone.items():
            gone.copy_(state[name])
        self._held = self._hold()

    def metrics(self) -> dict[str, float]:
        """Return the fraction of the units of each group that are removed."""
        return sparsity_metrics(self._kept())

    def scores(self) -> Mapping[str, Tensor]:
        """Return the magnitudes of the kept units. Removed units have negative scores, lower the earlier they were removed."""
        return {name: self._score(size, self._gone[name]).cpu() for name, size in self._sizes().items()}

    def close(self) -> None:
        """Leave the weights as trained, or rewind every parameter of the model to its exact initial value."""
        self._rewind(self._start.keys())
        self._start = {}
        self._optimizer = None

    @torch.no_grad()
    def _rewind(self, names: Collection[str]) -> None:
        for name in names:
            self._backbone.model.get_parameter(name).copy_(self._start[name])

    def _score(self, size: Tensor, gone: Tensor) -> Tensor:
        return torch.where(gone == 0, size, gone.to(size.dtype) - 256)

    def _prune(self, steps_done: int) -> None:
        """Do every pruning that is due."""
        while self._done < len(self._prunings) and self._prunings[self._done].step <= steps_done:
            reached = self._prunings[self._done].sparsity
            kept = draw(self.scores(), {group: min(reached, target) for group, target in self._target.items()}, self._settings.scope)
            self._done += 1
            for name, gone in self._gone.items():
                gone.masked_fill_((gone == 0) & ~kept[name].to(gone.device), self._done)
            self._held = self._hold()

    def _kept(self) -> dict[str, Tensor]:
        return {name: gone == 0 for name, gone in self._gone.items()}

    def _hold(self) -> HoldMaskCallback:
        return HoldMaskCallback(self._backbone, self._kept())
