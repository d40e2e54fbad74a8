"""None: no stop rule; the search runs for all its epochs."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.stop_rules.base import Monitor, Observation, StopRule
from ticketlab.training.plan import TrainingPlan


@frozen
class Never(StopRule):
    """Never stop the search early."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "run all epochs"
    waits: ClassVar[bool] = False
    judges: ClassVar[bool] = False

    def begin(self, plan: TrainingPlan) -> Monitor:
        """Return a monitor that never ends the search."""
        return _NeverMonitor()


class _NeverMonitor(Monitor):
    def observe(self, observation: Observation) -> bool:
        return False
