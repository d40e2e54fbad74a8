"""Runs a study from its definition, and returns its comparison."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from attrs import frozen

from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab.active_runs import lab_lock, registered
from ticketlab.lab.lab import is_read_only
from ticketlab.report.cells import Comparison
from ticketlab.report.numbers import Number, all_numbers
from ticketlab.studies.definition import Study, read_study, study_of
from ticketlab.studies.execute import Execution, cores, threads_per_job
from ticketlab.studies.keys import check_set_or_varied
from ticketlab.studies.levels import ZIP
from ticketlab.studies.plan import Plan, plan_study
from ticketlab.studies.store import LOG, StudyStore, is_study, read_study_cells, study_folder
from ticketlab.tasks.base import Task

MAX_NAME = 60


@frozen
class StudyRun:
    """A study that has run."""

    directory: Path
    """Its folder in the lab."""
    comparison: Comparison
    """Its cells with their results."""
    computed: int = 0
    """The number of stages that were not in the lab before."""

    @property
    def failed(self) -> list[str]:
        """The labels of the cells that have no results, without those that the study does not compute."""
        return [cell.label for cell in self.comparison.cells if cell.results is None and not cell.unavailable]

    def numbers(self) -> list[Number]:
        """Return every number of every seed."""
        return all_numbers(self.comparison)


def study(
    file: str | Path | None = None,
    *,
    recipes: str | Sequence[str] | None = None,
    tasks: Task | str | Sequence[Task | str] | None = None,
    vary: Mapping[str, Any] | None = None,
    design: str | None = None,
    exclude: Sequence[Mapping[str, Any]] = (),
    seeds: int | Sequence[int] | None = None,
    scale: str | None = None,
    baseline: str | None = None,
    settings: Mapping[str, Any] | None = None,
    jobs: int = 1,
    lab: str | Path = "lab",
    name: str | None = None,
) -> StudyRun:
    """Run a study: from a ``file`` whose values the other arguments replace, or from the arguments alone.

    ``vary`` maps what to vary to its levels: ``{"pruner": ["hard-concrete", "magnitude"], "sparsity": "0.1:0.9:0.1"}``; keys are flags of
    ``ticketlab run`` without their dashes, paths as in ``--set``, ``recipe`` or ``task``. ``settings`` has further keys for every cell
    whose recipe has them. ``jobs`` stages are computed at a time.

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
    return run_study(defined, lab, jobs=jobs, name=name)


def run_study(defined: Study, lab: str | Path, *, jobs: int = 1, name: str | None = None) -> StudyRun:
    """Run a study. Raises the errors of :func:`study`."""
    check_jobs(jobs)
    with threads_of_a_job(jobs):
        return _run(defined, Path(lab), jobs, name)


def _run(defined: Study, lab: Path, jobs: int, name: str | None) -> StudyRun:
    folder = study_folder(lab, defined, name)
    plan = plan_study(defined, lab)
    progress.say(describe_plan(plan))
    if is_read_only(folder, plan.lab.root):
        return _of_read_only_lab(folder, plan)
    store = StudyStore(plan, folder)
    store.begin()
    plan.lab.sweep()
    execution = Execution(plan, folder / LOG, store.cell_done, jobs)
    with contextlib.ExitStack() as stack:
        with lab_lock(plan.lab.root):
            stack.enter_context(registered(plan.lab.root, folder.name, plan.stages))
        execution.run()
    return StudyRun(folder, read_study_cells(folder), execution.computed)


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


def check_jobs(jobs: int) -> None:
    """Check the number of jobs.

    :raises UsageError: it is not between 1 and the number of cores.
    """
    if not 1 <= jobs <= cores():
        raise UsageError(f"--jobs {jobs}: choose between 1 and {cores()}, the number of cores")


@contextlib.contextmanager
def threads_of_a_job(jobs: int) -> Iterator[None]:
    """Use the threads of one of several jobs while the block runs: stages are planned with the number that they are computed with."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads_per_job(jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
