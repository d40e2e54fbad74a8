"""The model that ``evaluate`` and ``attack`` measure. If it is a run's, the run's own task and challenge sets are known too."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.core import files, progress
from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.core.formatting import joined
from ticketlab.lab.finished_models import RunModel, check_not_of_run, locate, model_of_run
from ticketlab.lab.layout import RECIPE, RESULTS, is_run
from ticketlab.lab.results import read_results
from ticketlab.lab.run_file import read_run_file
from ticketlab.recipes import recipe, tables
from ticketlab.recipes.recipe import Recipe
from ticketlab.tasks.base import Task
from ticketlab.tasks.datasets.local import LocalDataset


@frozen
class MeasuredModel:
    """A model to measure: its name as given or the directory of its run, its folder or hub name, and the run's model if it has a run."""

    name: str
    location: str
    of_run: RunModel | None = None

    @property
    def shown(self) -> str:
        """The name in tables, with the task and seed if the run has several models."""
        which = self.of_run.shown if self.of_run is not None else ""
        return f"{self.name}: {which}" if which else self.name


def find_model(name: str, *, seed: int | None = None, task: str | None = None) -> MeasuredModel:
    """Return the model at ``name``: a folder, a hub name, or the directory of a run, of which ``seed`` and ``task`` choose the model.

    :raises UsageError: there is no such model, or a seed or task is given for a model that is not a run's.
    """
    folder = files.expand(name)
    if is_run(folder):
        chosen = model_of_run(folder, task, seed)
        return MeasuredModel(name, str(chosen.folder), chosen)
    check_not_of_run(name, task, seed)
    return MeasuredModel(name, locate(name))


@frozen
class ChosenData:
    """The tasks and challenge sets to measure a model on. ``run`` is the run that they were taken from, if any, else None."""

    tasks: tuple[Task, ...]
    ood: tuple[Task, ...]
    ood_map: tuple[str, ...]
    run: Path | None = None

    def warn_if_changed(self, results: Mapping[str, Any]) -> None:
        """Warn about data sets in the new ``results`` that are not what the run used."""
        data, before = results.get("data", {}), _recorded_data(self.run) if self.run is not None else {}
        for name in data.keys() & before.keys():
            if data[name]["fingerprint"] != before[name]["fingerprint"]:
                progress.warn(f"{name}: not the data of {self.run}: its files, or how they are read, have changed since that run")


def choose_data(
    model: MeasuredModel, tasks: Sequence[Task], ood: Sequence[Task] = (), ood_map: Sequence[str] = (), *, takes_ood: bool = False
) -> ChosenData:
    """Return the requested tasks and challenge sets; without a task, those of the run whose model it is, and say what is taken.

    The run's task has the settings that the run read it with. The run's challenge sets are taken if the command ``takes_ood`` and none is
    given.

    :raises UsageError: the run's recipe cannot be read.
    """
    if tasks or model.of_run is None:
        return ChosenData(tuple(tasks), tuple(ood), tuple(ood_map))
    run = files.expand(model.name)
    part = _recipe_for(run, model.of_run.task)
    found = read_run_file(run)
    started_in = Path(found.working_directory) if found is not None else Path()
    (task,) = part.tasks
    rows = part.train_rows if task.train_rows is None else task.train_rows
    own = (_from_here(evolve(task, train_rows=rows), started_in),)
    sets = tuple(_from_here(challenge_set, started_in) for challenge_set in part.ood)
    takes_ood = takes_ood and not ood
    _say_taken(run, task, sets if takes_ood else ())
    if takes_ood:
        return ChosenData(own, sets, (*part.ood_map, *ood_map), run)
    return ChosenData(own, tuple(ood), tuple(ood_map), run)


def _say_taken(run: Path, task: Task, sets: Sequence[Task]) -> None:
    about = _recorded_data(run).get(task.label, {})
    read_as = f" (texts from {', '.join(about['columns'])}; labels {', '.join(about['labels'])})" if about else ""
    names = f", challenge set{'s' if len(sets) > 1 else ''} {joined([one.label for one in sets])}" if sets else ""
    progress.say(f"from the run {run.name}: task {task.label}{read_as}{names}")


def _recorded_data(run: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_results(run / RESULTS).get("data", {})
    return found


def _recipe_for(run: Path, label: str) -> Recipe:
    try:
        name, table, _ = tables.read(run / RECIPE)
        built = recipe.build_recipe(name, table)
    except TicketlabError as problem:
        raise UsageError(f"{run / RECIPE}: cannot be read ({problem}); name the task with --task") from None
    with contextlib.suppress(StopIteration):
        return built.of(next(task for task in built.tasks if task.label == label))
    raise UsageError(f"{run / RECIPE}: has no task `{label}`, unlike the results of the run; name the task with --task")


def _from_here(task: Task, started_in: Path) -> Task:
    """Return a task whose relative path, if it has one, leads from the working directory to where it led when the run was started."""
    if not isinstance(task, LocalDataset) or files.expand(task.path).is_absolute():
        return task
    there = started_in / task.path
    return evolve(task, path=str(there)) if there.exists() and not _is_same(there, Path(task.path)) else task


def _is_same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)
