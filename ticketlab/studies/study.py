"""Runs a study from its definition, and returns its comparison."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from attrs import frozen

from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.core.settings import build_component
from ticketlab.executors.base import Executor
from ticketlab.executors.local import Local
from ticketlab.lab.active_runs import lab_lock, registered
from ticketlab.lab.lab import is_read_only
from ticketlab.lab.layout import LOG
from ticketlab.lab.open_lab import lab_folder
from ticketlab.report.cells import Comparison
from ticketlab.report.numbers import Number, all_numbers
from ticketlab.report.verdicts import Verdict, verdicts
from ticketlab.studies.definition import Study
from ticketlab.studies.division import only_units, units_of_part
from ticketlab.studies.execute import Execution
from ticketlab.studies.gather import gather
from ticketlab.studies.keys import check_set_or_varied
from ticketlab.studies.levels import ZIP
from ticketlab.studies.other_parts import check_other_parts
from ticketlab.studies.part import Part
from ticketlab.studies.plan import Plan, plan_study
from ticketlab.studies.read_definition import read_study, study_of
from ticketlab.studies.store import StudyStore
from ticketlab.studies.stored_cells import read_study_cells
from ticketlab.studies.study_folder import is_study, study_folder
from ticketlab.studies.threads import threads_of_a_stage
from ticketlab.tasks.base import Task

MAX_NAME = 60


@frozen
class PartRun:
    """What one part of a study did."""

    part: Part
    """Which part it is."""
    stages: int
    """The number of stages that it needs, some of them perhaps together with other parts."""
    left: int
    """The number of stages that the lab still lacks: those of other parts, and those that failed."""
    failed: Sequence[str]
    """The labels of the cells in which it found an error."""


@frozen
class StudyRun:
    """A study that has run."""

    directory: Path
    """Its folder in the lab."""
    comparison: Comparison
    """Its cells with their results."""
    computed: int = 0
    """The number of stages that were not in the lab before."""
    part: PartRun | None = None
    """What the part of the study did, if it was not run as a whole."""

    @property
    def failed(self) -> list[str]:
        """The labels of the cells that have no results, without those that the study does not compute."""
        return [cell.label for cell in self.comparison.cells if cell.results is None and not cell.unavailable]

    def numbers(self) -> list[Number]:
        """Return every number of every seed."""
        return all_numbers(self.comparison)

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return the verdict on each hypothesis of the study: ``shown``, ``refuted``, ``undecided`` or ``not run``, with its tests."""
        return verdicts(self.comparison)


def study(
    file: str | Path | None = None,
    *,
    recipes: str | Sequence[str] | None = None,
    tasks: Task | str | Path | Sequence[Task | str | Path] | None = None,
    vary: Mapping[str, Any] | None = None,
    design: str | None = None,
    exclude: Sequence[Mapping[str, Any]] = (),
    seeds: int | Sequence[int] | None = None,
    scale: str | None = None,
    baseline: str | None = None,
    settings: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    executor: Executor | str | Mapping[str, Any] = "local",
    part: str | None = None,
    lab: str | Path = "lab",
    name: str | None = None,
) -> StudyRun:
    """Run a study: from a ``file`` whose values the other arguments replace, or from the arguments alone.

    ``vary`` maps what to vary to its levels: ``{"pruner": ["hard-concrete", "magnitude"], "sparsity": "0.1:0.9:0.1"}``; keys are flags of
    ``ticketlab run`` without their dashes, paths as in ``--set``, ``recipe`` or ``task``. ``settings`` has further keys for every cell
    whose recipe has them. ``jobs`` stages are computed at a time by the ``executor``: a name, a table with its ``name`` and settings, or an
    :class:`ticketlab.plugin.Executor`. By default ``local`` computes one at a time, or one per GPU if there are several. ``part``,
    such as ``3/10``, computes one part of the study only.

    :raises UsageError: the study cannot be planned; nothing has been computed. A cell that fails raises nothing: it has an error.
    :raises Interrupted: Ctrl-C; the same call resumes the study.
    """
    check_set_or_varied(settings or {}, [part for key in vary or {} for part in key.split(ZIP)])
    given: dict[str, Any] = {"recipes": recipes, "tasks": tasks, "design": design, "seeds": seeds, "baseline": baseline}
    given = {key: value for key, value in given.items() if value is not None}
    given |= {"vary": dict(vary)} if vary else {}
    given |= {"set": dict(settings)} if settings else {}
    given |= {"exclude": list(exclude)} if exclude else {}
    defined = (
        read_study(file, scale=scale, **given) if file is not None else study_of(default_name(recipes, vary or {}), given, scale=scale)
    )
    return run_study(defined, lab, jobs=jobs, executor=build_executor(executor), part=None if part is None else Part.parse(part), name=name)


def run_study(
    defined: Study,
    lab: str | Path,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    part: Part | None = None,
    name: str | None = None,
    check: Callable[[Plan], None] = lambda plan: None,
) -> StudyRun:
    """Run a study, or one part of it, by default with the executor ``local``. Raises the errors of :func:`study`.

    ``check`` is called with the plan before anything is computed, and may refuse it.
    """
    executor = executor or Local()
    with threads_of_a_stage(executor, jobs):
        return _run(defined, lab_folder(lab), executor, jobs, part, name, check)


def build_executor(value: Executor | str | Mapping[str, Any]) -> Executor:
    """Return the executor with a name, or that a table with a ``name`` describes.

    :raises SettingError: there is no such executor, or its settings are invalid.
    :raises UsageError: it cannot be used here.
    """
    executor = cast(Executor, build_component("executor", value, "executor"))
    executor.check_usable()
    return executor


def _run(
    defined: Study, lab: Path, executor: Executor, jobs: int | None, part: Part | None, name: str | None, check: Callable[[Plan], None]
) -> StudyRun:
    folder = study_folder(lab, defined, name)
    plan = plan_study(defined, lab)
    check(plan)
    progress.say(describe_plan(plan))
    if is_read_only(folder, plan.lab.root):
        return _of_read_only_lab(folder, plan)
    own = plan if part is None else only_units(plan, units_of_part(plan, part))
    store = StudyStore(plan, folder, part)
    with contextlib.ExitStack() as stack:
        with lab_lock(plan.lab.root):
            if part is not None:
                check_other_parts(plan, folder, part)
            stack.enter_context(registered(plan.lab.root, folder.name, own.stages))
        store.begin()
        execution = Execution(own, folder / LOG, store.cell_done, executor, jobs)
        try:
            execution.run()
        finally:
            plan.lab.publish(folder)
        done = None if part is None else PartRun(part, len(own.stages), gather(plan, store), store.failed())
    return StudyRun(folder, read_study_cells(folder), execution.computed, done)


def _of_read_only_lab(folder: Path, plan: Plan) -> StudyRun:
    """Return a study whose cells are all in a read-only lab.

    :raises UsageError: a cell is not.
    """
    found = read_study_cells(folder) if is_study(folder) else None
    planned = {cell.cell.label for cell in plan.cells if cell.keys}
    if found is None or any(cell.results is None and (not cell.unavailable or cell.label in planned) for cell in found.cells):
        raise UsageError(f"{plan.lab.root}: the lab is read-only and does not have this study; use another lab")
    progress.say(f"{plan.lab.root}: the lab is read-only; results are read from it, and nothing is written")
    return StudyRun(folder, found)


def default_name(recipes: str | Sequence[str] | None, vary: Mapping[str, Any]) -> str:
    """Return the name of a study that has no file: its recipes and what it varies."""
    names = [recipes] if isinstance(recipes, str) else list(recipes or ())
    stems = [Path(name).stem if name.endswith(".toml") else name for name in map(str, names)]
    varied = [key.rpartition(".")[2].replace(ZIP, "-") for key in vary]
    return "-".join([*(stems or ["ticket"]), *(["by", *varied] if varied else [])])[:MAX_NAME]


def describe_plan(plan: Plan) -> str:
    """Return a line about the size of a plan."""
    distinct = sum(cell.same_as is None and bool(cell.keys) for cell in plan.cells)
    cells = counted(len(plan.cells), "cell")
    planned = sum(bool(cell.keys) for cell in plan.cells)
    same = "" if distinct == planned else f", {distinct} of them different"
    failed = "" if planned == len(plan.cells) else f", {len(plan.cells) - planned} cannot be computed"
    return f"{cells}{failed}{same}; {counted(len(plan.stages), 'distinct stage')} (without sharing: {plan.users()})"
