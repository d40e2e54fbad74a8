"""No stop rule: the search takes all its epochs."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.stop_rules.base import Monitor, Observation, StopRule


@frozen
class Never(StopRule):
    """Look at nothing."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "take all the epochs"
    waits: ClassVar[bool] = False
    judges: ClassVar[bool] = False

    def start_monitor(self) -> Monitor:
        """Start watching a search."""
        return _Blind()


class _Blind(Monitor):
    def observe(self, observation: Observation) -> bool:
        return False
