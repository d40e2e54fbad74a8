"""Chooses the next stage of a plan to compute, and follows which stages and cells are done, failed or blocked."""

from __future__ import annotations

from collections.abc import Callable, Collection

from attrs import define, field

from ticketlab.studies.plan import Plan, PlannedStage


@define
class Schedule:
    """The state of a plan that is being executed. Stages are started in the order of the cells, so that early cells are finished early.

    A stage that needs a failed one is never started; ``errors`` has the message of each failed stage, by key.
    """

    plan: Plan
    done: set[str] = field(factory=set)
    errors: dict[str, str] = field(factory=dict)
    running: set[str] = field(factory=set)

    def next(self, avoid: Callable[[str], bool] = lambda key: False) -> PlannedStage | None:
        """Return the next stage that can be computed, and mark it as running; None if there is none now.

        A stage for which ``avoid`` is true, such as one that another process computes, is returned only if there is no other.
        """
        ready = [planned for key, planned in self.plan.stages.items() if self._is_ready(key, planned)]
        chosen = next((planned for planned in ready if not avoid(planned.key)), ready[0] if ready else None)
        if chosen is not None:
            self.running.add(chosen.key)
        return chosen

    def finish(self, key: str, error: str = "") -> list[int]:
        """Mark a stage as done or failed. Return the positions of the cells that are complete now."""
        self.running.discard(key)
        if error:
            self.errors[key] = error
            return []
        self.done.add(key)
        return [number for number in self.plan.stages[key].cells if self.is_complete(number)]

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
        blocked = self.blocked()
        return sum(key not in self.done and key not in self.errors and key not in blocked for key in self.plan.stages)

    def blocked(self) -> Collection[str]:
        """Return the stages that need a failed one, directly or not."""
        blocked: set[str] = set()
        for key, planned in self.plan.stages.items():  # each comes after those that it needs
            if any(need in self.errors or need in blocked for need in planned.needs):
                blocked.add(key)
        return blocked

    def _is_ready(self, key: str, planned: PlannedStage) -> bool:
        started = key in self.done or key in self.errors or key in self.running
        return not started and self.done.issuperset(planned.needs)
