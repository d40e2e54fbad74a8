"""The base class of stop rules, which decide when a search may end, and of their monitors, which observe one search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from attrs import frozen
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.settings import setting
from ticketlab.training.component import TrainingComponent
from ticketlab.training.plan import TrainingPlan


@frozen
class Observation:
    """The state of a search at the end of a mini-epoch. ``scores`` and ``development`` are computed when they are called."""

    step: int
    """Optimizer steps taken."""
    epoch: float
    """The same in epochs."""
    scores: Callable[[], Mapping[str, Tensor]]
    """The scores of the search, as ``draw`` would rank them."""
    development: Callable[[], float]
    """The development accuracy of the ticket that would be drawn now."""


class Monitor(Callback):
    """Applies a rule to one search: a callback of the training loop that also makes observations. It trains nothing.

    Everything it remembers between observations is in :meth:`state_dict`.
    """

    observes: ClassVar[bool] = True
    of_kind: ClassVar[str] = "stop rule"

    def observe(self, observation: Observation) -> bool:
        """Process an observation. Return True to end the search here."""
        raise NotImplementedError

    def metrics(self) -> dict[str, float]:
        """Return the numbers of the last observation, for the log."""
        return {}

    def draw_from(self) -> tuple[int, Mapping[str, Tensor]] | None:
        """Return the step and the scores of the earlier observation to draw from, or None to draw from the final scores."""
        return None


@frozen
class StopRule(TrainingComponent):
    """Settings of a stop rule. If the rule never stops a search, the search ends after its last epoch."""

    kind: ClassVar[str] = "stop rule"
    waits: ClassVar[bool] = True
    """Whether the rule waits for a condition. If the search ends before it is met, a warning is printed."""
    judges: ClassVar[bool] = True
    """Whether the rule may evaluate the development examples. The result then depends on the sparsity of the evaluated tickets."""

    interval: float = setting(0.05, above=0, unit="epochs", help="time between two observations (a mini-epoch); at least one step")

    @property
    def draws_earlier(self) -> bool:
        """Whether tickets may be drawn from an earlier observation than the one that ends the search."""
        return False

    def begin(self, plan: TrainingPlan) -> Monitor:
        """Return a new monitor for the search of a plan."""
        raise NotImplementedError
