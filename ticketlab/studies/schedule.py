"""Chooses the next stage of a plan to compute, and follows which stages and cells are done, failed or blocked."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Collection

from attrs import define, field

from ticketlab.executors.base import WorkResources
from ticketlab.studies.plan import Plan, PlannedStage


@define
class StageScheduler:
    """The state of a plan that is being executed. Stages are started in the order of the cells, so that early cells are finished early.

    A stage that needs a failed one is never started; ``errors`` has the message of each failed stage, by key. ``resources`` returns what a
    stage needs.
    """

    plan: Plan
    resources: Callable[[PlannedStage], WorkResources] = lambda planned: WorkResources()
    done: set[str] = field(factory=set)
    errors: dict[str, str] = field(factory=dict)
    running: set[str] = field(factory=set)
    _blocked: set[str] = field(factory=set)
    _keys: list[str] = field(init=False)
    _position: dict[str, int] = field(init=False)
    _missing: dict[str, set[str]] = field(init=False)
    _users: dict[str, list[str]] = field(factory=dict)
    _ready: dict[WorkResources, list[int]] = field(factory=dict)
    """The positions of the stages that can be started, sorted, by what they need."""

    def __attrs_post_init__(self) -> None:
        self._keys = list(self.plan.stages)
        self._position = {key: number for number, key in enumerate(self._keys)}
        self._missing = {key: set(planned.needs) for key, planned in self.plan.stages.items()}
        for key, planned in self.plan.stages.items():
            for need in planned.needs:
                self._users.setdefault(need, []).append(key)
            if not planned.needs:
                self._make_ready(key)

    def next(
        self, avoid: Callable[[str], bool] = lambda key: False, accepts: Callable[[WorkResources], bool] = lambda resources: True
    ) -> PlannedStage | None:
        """Return the next stage that can be computed, and mark it as running; None if there is none now.

        A stage for which ``avoid`` is true, such as one that another process computes, is returned only if there is no other.
        ``accepts`` tells whether there is room for a stage that needs these resources.
        """
        groups = [numbers for needed, numbers in self._ready.items() if numbers and accepts(needed)]
        if not groups:
            return None
        first = min(numbers[0] for numbers in groups)
        number = next((number for number in heapq.merge(*groups) if not avoid(self._keys[number])), first)
        next(numbers for numbers in groups if number in numbers).remove(number)
        self.running.add(self._keys[number])
        return self.plan.stages[self._keys[number]]

    def finish(self, key: str, error: str = "") -> list[int]:
        """Mark a stage as done or failed. Return the positions of the cells that are complete now."""
        self.running.discard(key)
        if error:
            self.errors[key] = error
            self._block(key)
            return []
        self.done.add(key)
        for user in self._users.get(key, ()):
            self._missing[user].discard(key)
            if not self._missing[user] and user not in self._blocked:
                self._make_ready(user)
        return [number for number in self.plan.stages[key].cells if self.is_complete(number)]

    def retry(self, key: str) -> None:
        """Mark a stage that was running as not started."""
        self.running.discard(key)
        self._make_ready(key)

    def is_complete(self, number: int) -> bool:
        """Return whether all stages of a cell are done."""
        cell = self.plan.cells[number]
        return bool(cell.keys) and self.done.issuperset(cell.keys.values())

    def error_of(self, number: int) -> str:
        """Return why a cell has no results: the error of its plan, or of its first failed stage; empty if none has failed."""
        cell = self.plan.cells[number]
        if cell.error:
            return cell.error
        failed = next((key for key in cell.keys.values() if key in self.errors), "")
        return f"{self.plan.stages[failed].title}: {self.errors[failed]}" if failed else ""

    @property
    def left(self) -> int:
        """The number of stages that can still be computed or are running."""
        return len(self._keys) - len(self.done) - len(self.errors) - len(self._blocked)

    def blocked(self) -> Collection[str]:
        """Return the stages that need a failed one, directly or not."""
        return self._blocked

    def _make_ready(self, key: str) -> None:
        bisect.insort(self._ready.setdefault(self.resources(self.plan.stages[key]), []), self._position[key])

    def _block(self, key: str) -> None:
        """Mark the stages that need a failed one as blocked, directly or not."""
        found = [key]
        while found:
            users = [user for user in self._users.get(found.pop(), ()) if user not in self._blocked and user not in self.errors]
            self._blocked.update(users)
            found += users
