"""The expected time until a study is done, from the stages that this execution has computed."""

from __future__ import annotations

import bisect
import itertools
import time
from collections.abc import Callable, Sequence

from attrs import define, field

from ticketlab.studies.plan import Plan
from ticketlab.studies.planned_work import Kind, parts_of
from ticketlab.studies.schedule import StageScheduler

EXHAUSTED = 0.5
"""Units of work below which what is left of a kind is the rounding of sums: a stage has at least one."""


@define
class Remaining:
    """Measures stages while ``jobs`` of them, or more, are computed at a time. ``missing`` are the keys of those that the lab lacked.

    A stage's seconds are divided among its kinds of work by their amount, so that stages of other sizes can be expected from it.
    """

    plan: Plan
    missing: set[str]
    jobs: int = 1
    clock: Callable[[], float] = time.monotonic
    _started: dict[str, float] = field(factory=dict)
    _speeds: dict[Kind, list[float]] = field(factory=dict)
    """Seconds per unit of the stages of each kind that were computed, sorted."""
    _parts: dict[str, list[tuple[Kind, float]]] = field(init=False)
    """The work of each missing stage that is not blocked."""
    _left: dict[Kind, float] = field(factory=dict)
    """The units of the missing stages that are not blocked, by kind."""
    _blocked: int = 0
    """The number of blocked stages when they were last left out."""

    def __attrs_post_init__(self) -> None:
        self._parts = {key: [(kind, max(1.0, units)) for kind, units in parts_of(self.plan, self.plan.stages[key])] for key in self.missing}
        for kind, units in itertools.chain.from_iterable(self._parts.values()):
            self._left[kind] = self._left.get(kind, 0.0) + units

    def start(self, key: str) -> None:
        """Note that a stage is being computed."""
        self._started[key] = self.clock()

    def finish(self, key: str, error: str) -> None:
        """Note that a stage has been computed; a failed one measures nothing."""
        started = self._started.pop(key, None)
        self.missing.discard(key)
        parts = self._leave_out(key)
        if started is None or error:
            return
        whole = sum(units for _, units in parts)
        for kind, _ in parts:
            bisect.insort(self._speeds.setdefault(kind, []), (self.clock() - started) / whole)

    def seconds(self, schedule: StageScheduler) -> float | None:
        """Return the seconds until everything that can still be computed is; None unless stages of every kind left were measured."""
        blocked = schedule.blocked()
        if len(blocked) != self._blocked:
            self._blocked = len(blocked)
            for key in blocked:
                self._leave_out(key)
        kinds = {kind for kind, units in self._left.items() if units}
        if not kinds.issubset(self._speeds):
            return None
        speeds = {kind: _median(self._speeds[kind]) for kind in kinds}
        expected = sum(speeds[kind] * self._left[kind] for kind in kinds)
        for key, started in self._started.items():
            whole = sum(speeds[kind] * units for kind, units in self._parts.get(key, ()))
            expected -= min(whole, self.clock() - started)
        return max(0.0, expected) / max(self.jobs, len(self._started))

    def _leave_out(self, key: str) -> list[tuple[Kind, float]]:
        """Expect a stage no more. Returns its work, nothing if it was left out before."""
        parts = self._parts.pop(key, [])
        for kind, units in parts:
            self._left[kind] -= units
            if self._left[kind] < EXHAUSTED:
                self._left[kind] = 0.0
        return parts


def _median(values: Sequence[float]) -> float:
    """Return the median of sorted values."""
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
