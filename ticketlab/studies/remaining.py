"""The expected time until a study is done, from the stages that this execution has computed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from attrs import define, field

from ticketlab.studies.estimate import Kind, parts_of
from ticketlab.studies.plan import Plan
from ticketlab.studies.schedule import Schedule


@define
class Remaining:
    """Measures stages while ``jobs`` of them are computed at a time. ``missing`` are the keys of those that the lab lacked at the start.

    A stage's seconds are divided among its kinds of work by their amount, so that stages of other sizes can be expected from it.
    """

    plan: Plan
    missing: set[str]
    jobs: int = 1
    clock: Callable[[], float] = time.monotonic
    _started: dict[str, float] = field(factory=dict)
    _speeds: dict[Kind, list[float]] = field(factory=dict)

    def start(self, key: str) -> None:
        """Note that a stage is being computed."""
        self._started[key] = self.clock()

    def finish(self, key: str, error: str) -> None:
        """Note that a stage has been computed; a failed one measures nothing."""
        started = self._started.pop(key, None)
        self.missing.discard(key)
        if started is None or error:
            return
        parts = self._parts(key)
        whole = sum(units for _, units in parts)
        for kind, _ in parts:
            self._speeds.setdefault(kind, []).append((self.clock() - started) / whole)

    def seconds(self, schedule: Schedule) -> float | None:
        """Return the seconds until everything that can still be computed is; None unless stages of every kind left were measured."""
        expected = 0.0
        for key in self.missing.difference(schedule.blocked()):
            parts = self._parts(key)
            if not all(kind in self._speeds for kind, _ in parts):
                return None
            whole = sum(statistics.median(self._speeds[kind]) * units for kind, units in parts)
            elapsed = self.clock() - self._started[key] if key in self._started else 0.0
            expected += max(0.0, whole - elapsed)
        return expected / self.jobs

    def _parts(self, key: str) -> list[tuple[Kind, float]]:
        return [(kind, max(1.0, units)) for kind, units in parts_of(self.plan, self.plan.stages[key])]
