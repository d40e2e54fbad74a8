"""Patience: stop when the development accuracy has stopped rising."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.settings import setting
from ticketlab.stop_rules.base import Monitor, Observation, StopRule
from ticketlab.training.plan import TrainingPlan


@frozen
class Patience(StopRule):
    """Stop after ``looks`` consecutive observations without a new best accuracy of the ticket that would be drawn."""

    name: ClassVar[str] = "patience"
    summary: ClassVar[str] = "stop when the development accuracy stops rising"

    interval: float = setting(1.0, above=0, unit="epochs", help="time between two observations; each evaluates the development examples")
    looks: int = setting(3, at_least=1, help="consecutive observations without a rise")
    rise: float = setting(0.0, at_least=0, help="smallest gain of accuracy that counts as a rise")

    def begin(self, plan: TrainingPlan) -> Monitor:
        """Return a monitor that counts the observations without a rise."""
        return _PatienceMonitor(self)


class _PatienceMonitor(Monitor):
    def __init__(self, rule: Patience) -> None:
        self._rule = rule
        self._best = -1.0
        self._without_rise = 0
        self._last = 0.0

    def observe(self, observation: Observation) -> bool:
        self._last = observation.development()
        if self._best < 0 or self._last > self._best + self._rule.rise:
            self._best, self._without_rise = self._last, 0
        else:
            self._without_rise += 1
        return self._without_rise >= self._rule.looks

    def metrics(self) -> dict[str, float]:
        return {"development": self._last, "without_rise": self._without_rise}

    def state_dict(self) -> dict[str, Tensor]:
        return {"best": torch.tensor(self._best, dtype=torch.float64), "without": torch.tensor(self._without_rise)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._best, self._without_rise = float(state["best"]), int(state["without"])
