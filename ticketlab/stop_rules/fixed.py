"""Fixed: stop at a fixed time, as EarlyBERT (Chen et al., 2021), which draws its tickets after 0.2 epochs."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.core.settings import setting
from ticketlab.stop_rules.base import Monitor, Observation, StopRule
from ticketlab.training.plan import TrainingPlan


@frozen
class Fixed(StopRule):
    """The learning rate schedule follows the epochs of the search, not the time of the stop."""

    name: ClassVar[str] = "fixed"
    summary: ClassVar[str] = "stop at a fixed time"
    paper: ClassVar[str] = "Chen et al., 2021, https://aclanthology.org/2021.acl-long.171"
    judges: ClassVar[bool] = False

    at: float = setting(0.2, above=0, unit="epochs", help="when to stop; checked after every interval")

    def begin(self, plan: TrainingPlan) -> Monitor:
        """Return a monitor that compares the time."""
        return _FixedMonitor(self.at)


class _FixedMonitor(Monitor):
    def __init__(self, at: float) -> None:
        self._at = at

    def observe(self, observation: Observation) -> bool:
        return observation.epoch >= self._at - 1e-9  # 0.15 + 0.05 is a little less than 0.2
