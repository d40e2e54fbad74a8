"""Runs a recipe in a lab, task by task and seed by seed; ``stage_cache`` decides which stages are taken from the lab."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from attrs import frozen

from ticketlab.backbone.device import be_deterministic, pick_device, pick_precision, remember_shapes
from ticketlab.core import files, progress
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.formatting import counted
from ticketlab.core.version import __version__
from ticketlab.lab.lab import Lab, is_read_only
from ticketlab.lab.layout import ENVIRONMENT, LOG, RECIPE, RESULTS, run_name
from ticketlab.recipes import differences
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs import copied_outputs, environment, preflight, results_metadata
from ticketlab.runs.log import Log
from ticketlab.runs.run_inputs import RunInputs, check_run_inputs, load_run_inputs
from ticketlab.runs.stage_runner import FinishedStage, StageRunner, Starting, TaskOfRun
from ticketlab.tasks.assembly import repeats
from ticketlab.tasks.base import TaskData
from ticketlab.training.loss_function import Precision

SCHEMA = 2
MAX_LABEL_NAMES = 30
"""The maximum number of label names in the first line about a task."""

Choice = TypeVar("Choice")


@frozen
class Run:
    """A finished run: its directory, and the content of its ``results.json``.

    ``task`` and ``seed`` of the methods may be omitted where the run has only one.
    """

    directory: Path
    results: Mapping[str, Any]

    def stages(self, *, task: str | None = None, seed: int | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return the results of the stages of a task and seed, by stage.

        :raises UsageError: the run has no such task or seed, or several to choose from.
        """
        tasks: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]] = self.results["tasks"]
        seeds = _pick(tasks, task, "task")
        return _pick(seeds, None if seed is None else str(seed), "seed")

    def metrics(self, stage: str | None = None, *, task: str | None = None, seed: int | None = None) -> Mapping[str, Any]:
        """Return the metrics of an evaluate stage on the task itself (``accuracy``, ``macro_f1``, ...); ``stage`` if there are several.

        :raises UsageError: the run has no such task, seed or evaluate stage, or several to choose from.
        """
        stages = self.stages(task=task, seed=seed)
        evaluated: dict[str, Mapping[str, Any]] = {name: result["clean"] for name, result in stages.items() if result["kind"] == "evaluate"}
        return _pick(evaluated, stage, "evaluate stage")

    def attack_metrics(self, *, task: str | None = None, seed: int | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return the metrics of every attack (``aua``, ``suc``, ``queries``, ...) by its name.

        If several stages run an attack of the same name, it is prefixed with the stage: ``STAGE.NAME``.

        :raises UsageError: the run has no such task or seed, or several to choose from.
        """
        found = [
            (stage, attack, metrics)
            for stage, result in self.stages(task=task, seed=seed).items()
            for attack, metrics in result.get("attacks", {}).items()
        ]
        names = [attack for _, attack, _ in found]
        return {attack if names.count(attack) == 1 else f"{stage}.{attack}": metrics for stage, attack, metrics in found}


def run(recipe: Recipe, lab: str | Path = "lab", *, starting: Starting | None = None) -> Run:
    """Run every stage of a recipe for each of its tasks and seeds.

    Writes a run directory with ``recipe.toml``, ``environment.json``, ``log.jsonl``, ``results.json``, ``tickets/`` of the draws and
    ``predictions/`` of the evaluations. ``starting`` is called with the task, the stage and its key before each stage is computed or taken
    from the lab; an exception that it raises ends the run.

    :raises UsageError: the recipe has no task, or something that a stage needs is missing. Nothing has been computed yet.
    :raises Interrupted: Ctrl-C; the same call resumes the run.
    """
    if not recipe.tasks:
        raise UsageError("the recipe has no task; name one with --task (a registered name, a file or a folder)")
    preflight.check_resources(recipe)
    be_deterministic()
    remember_shapes()
    return _RecipeRunner(check_run_inputs(load_run_inputs(recipe)), Lab(lab), starting or (lambda *_: None)).run()


def directory_name(recipe: Recipe) -> str:
    """Return the name of the directory of this recipe's run. Loads the data, but computes nothing.

    :raises UsageError: see :func:`run`.
    """
    return run_name(recipe.name, load_run_inputs(recipe).digest())


def _pick(choices: Mapping[str, Choice], name: str | None, what: str) -> Choice:
    """Return the choice of this name, or the only one.

    :raises UsageError: there is none of this name, or more than one to choose from.
    """
    if name is None and len(choices) == 1:
        return next(iter(choices.values()))
    if name is not None and name in choices:
        return choices[name]
    if name is not None:
        raise UsageError(f"the run has no {what} `{name}`{did_you_mean(name, choices)}")
    if not choices:
        raise UsageError(f"the run has no {what}")
    raise UsageError(f"the run has {counted(len(choices), what)} ({', '.join(choices)}); choose one")


class _RecipeRunner:
    """Runs all tasks and seeds of a recipe and writes the run's directory, unless the lab is read-only."""

    def __init__(self, inputs: RunInputs, lab: Lab, starting: Starting) -> None:
        self.inputs = inputs
        self.recipe = inputs.recipe
        self.lab = lab
        self.precision: Precision = pick_precision(self.recipe.precision)
        self.directory = lab.run_folder(self.recipe.name, inputs.digest())
        self.read_only = is_read_only(self.directory, lab.root)
        self.stage_runner = StageRunner(inputs, lab, self.precision, Log(None if self.read_only else self.directory / LOG), starting)

    def run(self) -> Run:
        if self.read_only:
            progress.say(f"{self.lab.root}: the lab is read-only; results are read from it, and nothing is written")
        else:
            self._prepare_directory()
        for label, data in self.inputs.sets.items():
            _report_data(label, data)
        tasks: dict[str, Any] = {}
        for task in self.recipe.tasks:
            data = self.inputs.data[task.label]
            _report_data(task.label, data)
            part = self.recipe.of(task)
            tasks[task.label] = {str(seed): self._run_seed(TaskOfRun(task.label, part, data, seed)) for seed in self.recipe.seeds}
        results = self._results(tasks)
        if not self.read_only:
            files.write_json(self.directory / RESULTS, results)
        return Run(self.directory, results)

    def _prepare_directory(self) -> None:
        self.lab.sweep()
        now = environment.describe() | {"precision": self.precision}
        self._report_changed_threads(now["threads"])
        files.write_text(self.directory / RECIPE, self.recipe.to_toml())
        files.write_json(self.directory / ENVIRONMENT, now)

    def _report_changed_threads(self, now: int) -> None:
        """Report that results computed with another number of threads will be replaced.

        Their last bits differ, so the number of threads is part of a stage's key.
        """
        try:
            before = files.read_json(self.directory / ENVIRONMENT)["threads"]
        except (OSError, ValueError, KeyError, TypeError):
            return
        if before != now and pick_device().type == "cpu" and (self.directory / RESULTS).exists():
            progress.say(
                f"{self.directory}: its results were computed with {counted(before, 'thread')}; results with {now} are computed separately "
                "and replace them"
            )

    def _run_seed(self, task: TaskOfRun) -> dict[str, Any]:
        """Run the stages of a task for one seed, and return their results by name."""
        finished: dict[str, FinishedStage] = {}
        for name, stage in task.recipe.stages.items():
            finished[name] = self.stage_runner.run(name, stage, task, finished)
            if not self.read_only:
                copied_outputs.copy_stage_output(self.directory, stage.name, task.label, name, task.seed, finished[name].folder)
        return {name: dict(stage.result) for name, stage in finished.items()}

    def _results(self, tasks: dict[str, Any]) -> dict[str, Any]:
        """Return the content of ``results.json``."""
        overrides = differences.differences(self.recipe, self.recipe.without_overrides)
        sets = list(self.inputs.sets.values())
        return {
            "schema": SCHEMA,
            "ticketlab": __version__,
            "run": self.directory.name,
            "recipe": self.recipe.name,
            "label": differences.recipe_label(self.recipe),
            "overrides": {".".join(path): results_metadata.json_value(value) for path, value in overrides.items()},
            "scale": self.recipe.scale,
            "model": self.recipe.model,
            "precision": self.precision,
            "digest": self.recipe.digest(),
            "seeds": list(self.recipe.seeds),
            "ood": [data.name for data in sets],
            "data": results_metadata.data_metadata(self.inputs.data, sets),
            "tasks": tasks,
        }


def _report_data(label: str, data: TaskData) -> None:
    """Print the sizes, columns and labels of a data set, its notices and its warnings."""
    sizes = ", ".join(f"{len(examples)} {split}" for split, examples in data.splits.items())
    names = ", ".join(f"{index}={name}" for index, name in enumerate(data.label_names[:MAX_LABEL_NAMES]))
    names += f" and {len(data.label_names) - MAX_LABEL_NAMES} more" if len(data.label_names) > MAX_LABEL_NAMES else ""
    dropped = "".join(f"; {counted(count, 'row')} dropped ({reason})" for reason, count in data.dropped.items() if count)
    counts = "".join(f"; {repeats.describe_count(what, count)}" for what, count in data.counts.items() if count)
    progress.say(f"{label}: {sizes}; texts from {', '.join(data.columns)}; labels {names}{dropped}{counts}")
    for notice in data.notices:
        progress.say(f"{label}: {notice}")
    for warning in data.warnings:
        progress.warn(f"{label}: {warning}")
