"""Counts the cells and stages of the papers' studies without reading any data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import asdict, define, evolve

from ticketlab.core import files, registry
from ticketlab.core.errors import Unavailable, UsageError
from ticketlab.papers.catalogue import paper_studies, read
from ticketlab.papers.costs import COSTS, Cost
from ticketlab.studies.definition import Study
from ticketlab.studies.plan import Plan, plan_study
from ticketlab.studies.planned_inputs import PlannedInputs
from ticketlab.tasks.base import Task, TaskData


@define
class NamedInputs(PlannedInputs):
    """Data sets and models by their names, whether or not they are on this machine, so that counts are the same everywhere."""

    def _read(self, task: Task, read: Callable[[], TaskData]) -> TaskData:
        def missing() -> TaskData:
            raise Unavailable(f"{task.label} is not read")

        return super()._read(task, missing)

    def _resolve(self, name: str) -> str:
        return self._named(name, UsageError(f"{name} is not read"))


def plan_by_names(study: Study) -> Plan:
    """Return the plan of a study with every data set and model identified by its name."""
    return plan_study(study, Path("lab"), NamedInputs())


def cost_of(plan: Plan) -> Cost:
    """Return what a plan costs."""
    return Cost(sum(not cell.error for cell in plan.cells), len(plan.stages), plan.users())


def count(plugins: Sequence[Path]) -> dict[str, Cost]:
    """Return what each study costs, whatever plugins are installed. ``plugins`` are the folders of those that levels need.

    :raises UsageError: a level needs another one.
    """
    with registry.using(registry.load(entry_points=False)):
        found = {name: cost_of(plan_by_names(read(name))) for name in paper_studies()}
    with registry.using(registry.load(plugins, entry_points=False)):
        for name, study in paper_studies().items():
            if study.plugins:
                for reason in study.unavailable.values():
                    raise UsageError(f"{name}: {reason}")
                found[name] = evolve(found[name], with_plugins=cost_of(plan_by_names(read(name))))
    return found


def write_costs(plugins: Sequence[Path]) -> None:
    """Count all studies, and write ``costs.json``. Raises the errors of :func:`count`."""
    counts = count(plugins)
    files.write_json(COSTS, {name: asdict(cost, filter=lambda _, value: value is not None) for name, cost in counts.items()})
