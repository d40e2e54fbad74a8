"""Runs a recipe in a lab, task by task and seed by seed; ``stage_cache`` decides which stages are taken from the lab."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import field, frozen

from ticketlab.backbone.device import be_deterministic, pick_device, pick_precision, remember_shapes
from ticketlab.core import files, progress, temporary
from ticketlab.core.component import Precision
from ticketlab.core.errors import Interrupted, TicketlabError, UsageError, did_you_mean
from ticketlab.core.formatting import counted
from ticketlab.core.version import __version__
from ticketlab.lab import active_runs, integrity
from ticketlab.lab.lab import Lab, is_read_only
from ticketlab.lab.layout import ENVIRONMENT, LOG, RECIPE, RESULTS
from ticketlab.lab.open_lab import lab_folder, open_lab
from ticketlab.lab.run_file import RunFile
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs import copied_outputs, environment, listeners, preflight, results_metadata, run_directory
from ticketlab.runs.log import Log, LogFile
from ticketlab.runs.run_identity import identify
from ticketlab.runs.run_inputs import RunInputs, check_run_inputs, load_run_inputs, report_data
from ticketlab.runs.stage_runner import FinishedStage, StageRunner, Starting, TaskOfRun
from ticketlab.tasks.base import Task, TaskData

if TYPE_CHECKING:
    from ticketlab.attacks.engine.executor import AttackExecution

SCHEMA = 2

Choice = TypeVar("Choice")


@frozen
class Run:
    """A finished run: its directory, and the content of its ``results.json``.

    ``task`` and ``seed`` of the methods may be omitted where the run has only one.
    """

    directory: Path
    """The directory of the run."""
    results: Mapping[str, Any] = field(repr=False)
    """The content of ``results.json``."""

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


def run(
    recipe: Recipe,
    lab: str | Path = "lab",
    *,
    name: str | None = None,
    starting: Starting | None = None,
    attack_execution: AttackExecution | None = None,
) -> Run:
    """Run every stage of a recipe for each of its tasks and seeds.

    Writes a run directory with ``run.json``, ``recipe.toml``, ``environment.json``, ``log.jsonl``, ``results.json``, ``tickets/`` of the
    draws and ``predictions/`` of the evaluations. If the lab has a run of the same work, it is this run, in its directory; otherwise the
    directory is called ``name``, or after the recipe. ``starting`` is called with the task, the stage and its key before each stage is
    computed or taken from the lab; an exception that it raises ends the run. With ``attack_execution`` the examples of attacks are shared
    out to the workers of an executor; everything else is computed in this process.

    :raises UsageError: the recipe has no task, ``name`` is invalid or the name of other work, or something that a stage needs is missing.
        Nothing has been computed yet.
    :raises Interrupted: Ctrl-C; the same call resumes the run.
    """
    if not isinstance(recipe, Recipe):
        raise UsageError(f"ticketlab.run takes a recipe that ticketlab.compose makes, not of type {type(recipe).__name__}")
    inputs = inputs_of_run(recipe, name)
    return run_loaded(inputs, open_lab(lab_folder(lab)), name=name, starting=starting, attack_execution=attack_execution)


def inputs_of_run(recipe: Recipe, name: str | None) -> RunInputs:
    """Return the inputs of a run that is to be called ``name``, loaded and checked. Raises the errors of :func:`run`."""
    if not recipe.tasks:
        raise UsageError("the recipe has no task; name one with --task (a registered name, a file or a folder)")
    if name is not None:
        run_directory.check_name(name)
    preflight.check_precision(recipe)
    preflight.check_divided_batches(recipe)
    preflight.check_resources(recipe)
    be_deterministic()
    remember_shapes()
    return check_run_inputs(load_run_inputs(recipe))


def run_loaded(
    inputs: RunInputs,
    lab: Lab,
    *,
    name: str | None = None,
    starting: Starting | None = None,
    compute: Callable[[Path], None] | None = None,
    attack_execution: AttackExecution | None = None,
) -> Run:
    """Like :func:`run`, with inputs that have been loaded and checked.

    ``compute`` is called with the path of the run's log, and computes all stages; then they are taken from the lab, without messages.
    """
    return _RecipeRunner(inputs, lab, name, starting or (lambda *_: None), compute, attack_execution).run()


def directory_name(recipe: Recipe, lab: str | Path = "lab", name: str | None = None) -> str:
    """Return the name of the directory of this recipe's run. Loads the data, but computes nothing.

    :raises UsageError: see :func:`run`.
    """
    return directory_name_of(load_run_inputs(recipe), lab_folder(lab), name)


def directory_name_of(inputs: RunInputs, lab: Path, name: str | None = None) -> str:
    """Return the name of the directory of the run of loaded inputs."""
    identity = identify(inputs, lab, pick_precision(inputs.recipe.precision))
    return run_directory.find_directory(inputs.recipe, identity.digest, lab, name).name


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

    def __init__(
        self,
        inputs: RunInputs,
        lab: Lab,
        name: str | None,
        starting: Starting,
        compute: Callable[[Path], None] | None,
        attack_execution: AttackExecution | None,
    ) -> None:
        self.inputs = inputs
        self.recipe = inputs.recipe
        self.lab = lab
        self.name = name
        self.starting = starting
        self.compute = compute
        self.attack_execution = attack_execution
        self.precision: Precision = pick_precision(self.recipe.precision)
        self.identity = identify(inputs, lab.root, self.precision)

    def run(self) -> Run:
        with self._directory() as (directory, run_file):
            self.directory = directory
            self.run_file = run_file
            self.read_only = run_file is None
            self.info = listeners.describe_run(self.recipe, directory, self.precision)
            log = Log(None if self.read_only else LogFile(directory / LOG), self.info)
            self.stage_runner = StageRunner(self.inputs, self.lab, self.precision, log, self.starting)
            self.stage_runner.attack_execution = self.attack_execution
            with self._announced():
                return self._run()

    @contextlib.contextmanager
    def _announced(self) -> Iterator[None]:
        """Tell listeners that the run begins, and how it ends."""
        listeners.notify("ticketlab_run_started", run=self.info)
        try:
            yield
        except BaseException as problem:
            status = "interrupted" if isinstance(problem, (Interrupted, KeyboardInterrupt)) else "failed"
            listeners.notify("ticketlab_run_finished", run=self.info, status=status, error=str(problem), results={})
            if not self.read_only:
                with contextlib.suppress(TicketlabError):  # what ended the run is more important
                    self.lab.publish(self.directory)
            raise
        listeners.notify("ticketlab_run_finished", run=self.info, status="finished", error="", results=self.results)

    @contextlib.contextmanager
    def _directory(self) -> Iterator[tuple[Path, RunFile | None]]:
        """Create the run's directory and register the run; yield the directory and its ``run.json``, None if the lab is read-only."""
        directory = run_directory.find_directory(self.recipe, self.identity.digest, self.lab.root, self.name)
        if is_read_only(directory, self.lab.root):
            progress.say(f"{self.lab.root}: the lab is read-only; results are read from it, and nothing is written")
            yield directory, None
            return
        with contextlib.ExitStack() as until_done:
            with active_runs.lab_lock(self.lab.root):
                directory = run_directory.find_directory(self.recipe, self.identity.digest, self.lab.root, self.name)
                directory.mkdir(parents=True, exist_ok=True)
                run_file = run_directory.write_run_file(directory, self.recipe, self.identity, self.name)
                keys = {*self.identity.keys, *integrity.keys_in(self.recipe.to_toml())}
                until_done.enter_context(active_runs.registered(self.lab.root, directory.name, keys))
            yield directory, run_file

    def _run(self) -> Run:
        if not self.read_only:
            self._prepare_directory()
        own = self.inputs.data_of_stages()
        for label, data in (*self.inputs.sets.items(), *own.items()):
            report_data(label, data)
        if self.compute is None or self.read_only:
            tasks = {task.label: self._run_task(task) for task in self.recipe.tasks}
        else:
            for task in self.recipe.tasks:
                report_data(task.label, self.inputs.data[task.label])
            self.compute(self.directory / LOG)
            with progress.silent():
                tasks = {task.label: self._run_task(task) for task in self.recipe.tasks}
        self.results = self._results(tasks, own)
        if not self.read_only:
            files.write_json(self.directory / RESULTS, self.results)
            self.lab.publish(self.directory)
        return Run(self.directory, self.results)

    def _prepare_directory(self) -> None:
        temporary.sweep(self.directory)
        now = environment.describe() | {"precision": self.precision}
        self._report_changed_threads(now["threads"])
        files.write_text(self.directory / RECIPE, self.recipe.to_toml())
        files.write_json(self.directory / ENVIRONMENT, now)
        self.lab.publish(self.directory)

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

    def _run_task(self, task: Task) -> dict[str, Any]:
        """Run the stages of a task for all seeds, and return their results by seed."""
        data, part = self.inputs.data[task.label], self.recipe.of(task)
        report_data(task.label, data)
        return {str(seed): self._run_seed(TaskOfRun(task.label, part, data, seed)) for seed in self.recipe.seeds}

    def _run_seed(self, task: TaskOfRun) -> dict[str, Any]:
        """Run the stages of a task for one seed, and return their results by name."""
        finished: dict[str, FinishedStage] = {}
        for name, stage in task.recipe.stages.items():
            finished[name] = self.stage_runner.run(name, stage, task, finished)
            if not self.read_only:
                copied_outputs.copy_stage_output(self.directory, stage.copied_output, task.label, name, task.seed, finished[name].folder)
        return {name: dict(stage.result) for name, stage in finished.items()}

    def _results(self, tasks: dict[str, Any], own: Mapping[str, TaskData]) -> dict[str, Any]:
        """Return the content of ``results.json``; ``own`` has the data of tasks that stages name themselves."""
        sets = list(self.inputs.sets.values())
        return {
            "schema": SCHEMA,
            "ticketlab": __version__,
            "run": self.directory.name,
            **self._requested(),
            "model": self.recipe.model,
            "precision": self.precision,
            "digest": self.identity.digest,
            "seeds": list(self.recipe.seeds),
            "ood": [data.name for data in sets],
            "data": results_metadata.data_metadata({**self.inputs.data, **own}, sets),
            "tasks": tasks,
        }

    def _requested(self) -> dict[str, Any]:
        """Return the recipe's name, label, overrides and scale: those of the run's first command."""
        first = self.run_file or run_directory.new_run_file(self.recipe, self.identity)
        return {"recipe": first.recipe, "label": first.label, "overrides": dict(first.overrides), "scale": first.scale}
