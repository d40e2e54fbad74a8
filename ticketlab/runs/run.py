"""Running a recipe in a lab: each stage once, its result taken from the lab where it is there already."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.backbone.device import be_deterministic, pick_device, pick_precision, remember_shapes
from ticketlab.core import files, progress, registry
from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.core.version import __version__
from ticketlab.lab import integrity
from ticketlab.lab.lab import Lab, is_read_only
from ticketlab.lab.layout import ENVIRONMENT, LOG, RECIPE, RESULT, RESULTS, UNTIL_DONE, run_name
from ticketlab.lab.results import find_impossible
from ticketlab.recipes import differences, ineffective_settings
from ticketlab.recipes.recipe import Recipe
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.runs import copies, environment, preflight, results_metadata, training_overlap
from ticketlab.runs.log import Log
from ticketlab.runs.preparation import Prepared, checked, prepare
from ticketlab.runs.stage_cache import StageLocation, is_complete, locate
from ticketlab.runs.stage_errors import guarded
from ticketlab.stages.base import Context, Stage
from ticketlab.tasks.assembly import repeats
from ticketlab.tasks.base import TaskData
from ticketlab.training.loss_function import Precision

SCHEMA = 2
MOST_NAMES = 30
"""Label names that the first line of a task lists."""


@frozen
class Run:
    """A finished run: its directory, and what its ``results.json`` holds."""

    directory: Path
    results: Mapping[str, Any]


Starting = Callable[[str, str, str], None]


@frozen
class _Finished:
    key: str
    folder: Path
    result: Mapping[str, Any]


def run(recipe: Recipe, lab: str | Path = "lab", *, starting: Starting | None = None) -> Run:
    """Run every stage of a recipe for each of its tasks and seeds.

    Leaves a run directory with ``recipe.toml``, ``environment.json``, ``log.jsonl``, ``results.json``, ``tickets/`` of the draws and
    ``predictions/`` of the evaluations. ``starting`` is called with the task, the stage and its key before each stage is computed or looked
    up; what it raises ends the run.

    :raises UsageError: the recipe has no task, or something that a stage needs is not there; nothing was computed then.
    :raises Interrupted: Ctrl-C; the same call goes on from there.
    """
    if not recipe.tasks:
        raise UsageError("the recipe has no task; name one with --task (a registered name, a file or a folder)")
    preflight.resources(recipe)
    be_deterministic()
    remember_shapes()
    return _Runner(checked(prepare(recipe)), Lab(lab), starting or (lambda *_: None)).run()


def name_of(recipe: Recipe) -> str:
    """Return what the directory of a run of this recipe is called. The data are read, and nothing is computed.

    :raises UsageError: as :func:`run`.
    """
    return run_name(recipe.name, prepare(recipe).digest())


class _Runner:
    def __init__(self, prepared: Prepared, lab: Lab, starting: Starting) -> None:
        self.prepared = prepared
        self.recipe = prepared.recipe
        self.lab = lab
        self.starting = starting
        self.precision: Precision = pick_precision(self.recipe.precision)
        self.resources_checked = False
        self.told: set[str] = set()
        self.places: dict[str, list[str]] = {}
        """Where in the results each key stands first: task, seed and stage."""

    def run(self) -> Run:
        self.directory = self.lab.run_folder(self.recipe.name, self.prepared.digest())
        self.read_only = is_read_only(self.directory, self.lab.root)
        self.log = Log(None if self.read_only else self.directory / LOG)
        if self.read_only:
            progress.say(f"{self.lab.root}: the lab is read-only: what is in it is read, and nothing is written")
        else:
            self.lab.sweep()
            now = environment.describe() | {"precision": self.precision}
            self._say_threads(now["threads"])
            files.write_text(self.directory / RECIPE, self.recipe.to_toml())
            files.write_json(self.directory / ENVIRONMENT, now)
        for label, read in self.prepared.sets.items():
            self._say_data(label, read)
        tasks: dict[str, Any] = {}
        for task in self.recipe.tasks:
            read = self.prepared.data[task.label]
            self._say_data(task.label, read)
            self.task, self.part = task.label, self.recipe.of(task)
            tasks[task.label] = {str(seed): self._seed(read, seed) for seed in self.recipe.seeds}
        differing = differences.differences(self.recipe, self.recipe.plain)
        sets = list(self.prepared.sets.values())
        results = {
            "schema": SCHEMA,
            "ticketlab": __version__,
            "run": self.directory.name,
            "recipe": self.recipe.name,
            "label": differences.label(self.recipe),
            "overrides": {".".join(path): results_metadata.plain(value) for path, value in differing.items()},
            "scale": self.recipe.scale,
            "model": self.recipe.model,
            "precision": self.precision,
            "digest": self.recipe.digest(),
            "seeds": list(self.recipe.seeds),
            "ood": [read.name for read in sets],
            "data": results_metadata.of_data(self.prepared.data, sets),
            "tasks": tasks,
        }
        if not self.read_only:
            files.write_json(self.directory / RESULTS, results)
        return Run(self.directory, results)

    def _say_threads(self, now: int) -> None:
        """Say that results of another number of threads are replaced: their last bits differ, so their stages are others in the lab."""
        try:
            before = files.read_json(self.directory / ENVIRONMENT)["threads"]
        except (OSError, ValueError, KeyError, TypeError):
            return
        if before != now and pick_device().type == "cpu" and (self.directory / RESULTS).exists():
            progress.say(
                f"{self.directory}: its results are of {counted(before, 'thread')}; those of {now} are computed apart and take their place"
            )

    def _check_resources(self) -> None:
        """Find out what an attack lacks before hours of training, not after; where all is in the lab already, nothing is asked."""
        if self.resources_checked:
            return
        self.resources_checked = True
        attacks = [attack for stage in self.prepared.stages for attack in getattr(stage, "attacks", ())]
        for attack in attacks:
            attack.prepare()
        if attacks:
            import_textattack()

    def _say_data(self, label: str, data: TaskData) -> None:
        sizes = ", ".join(f"{len(examples)} {split}" for split, examples in data.splits.items())
        names = ", ".join(f"{index}={name}" for index, name in enumerate(data.label_names[:MOST_NAMES]))
        names += f" and {len(data.label_names) - MOST_NAMES} more" if len(data.label_names) > MOST_NAMES else ""
        dropped = "".join(f"; {counted(count, 'row')} dropped ({reason})" for reason, count in data.dropped.items() if count)
        counts = "".join(f"; {repeats.said_of(what, count)}" for what, count in data.counts.items() if count)
        progress.say(f"{label}: {sizes}; texts from {', '.join(data.columns)}; labels {names}{dropped}{counts}")
        for notice in data.notices:
            progress.say(f"{label}: {notice}")
        for warning in data.warnings:
            progress.warn(f"{label}: {warning}")

    def _seed(self, data: TaskData, seed: int) -> dict[str, Any]:
        finished: dict[str, _Finished] = {}
        for name, stage in self.part.stages.items():
            finished[name] = self._stage(name, stage, data, seed, finished)
            if not self.read_only:
                copies.copy(self.directory, stage.name, self.task, name, seed, finished[name].folder)
        return {name: dict(done.result) for name, done in finished.items()}

    def _stage(self, name: str, stage: Stage, data: TaskData, seed: int, finished: Mapping[str, _Finished]) -> _Finished:
        placed = locate(
            self.part,
            name,
            task=self.task,
            data=data,
            ood=self.prepared.ood(self.part),
            model=self.prepared.model,
            precision=self.precision,
            seed=seed,
            earlier={earlier: (done.key, done.folder) for earlier, done in finished.items()},
        )
        key, data = placed.key, placed.data
        self.starting(self.task, name, key)
        title = f"{data.name} seed {seed} {name}".lstrip()
        remarks = ineffective_settings.remarks(self.part, name)
        for remark in remarks:
            progress.warn(f"{title}: {remark}")
        about_it = {"stage": name, "task": data.name or None, "seed": seed}
        result = self._found(placed, title, about_it)
        if result is None:
            with self.lab.lock(key, title) as folder:
                context = Context(
                    directory=folder,
                    key=key,
                    name=name,
                    model=self.prepared.model,
                    max_length=stage.longest(self.part.max_length),
                    data=data,
                    seed=seed,
                    precision=self.precision,
                    inputs=placed.inputs,
                    log=lambda record: self.log({**record, "task": data.name or None, "seed": seed}),
                    ood=placed.ood,
                    ood_map=self.part.ood_map,
                    keep=placed.keep,
                    told=self.told,
                )
                result = self._found(placed, title, about_it)  # another process may have finished it meanwhile
                result = result if result is not None else self._compute(stage, context, title)
        registry.current().notify("ticketlab_stage_finished", stage=name, result=result)
        about = {"kind": stage.name, "key": key, "seed": seed, **results_metadata.of_stage(stage, finished)}
        here = [self.task, str(seed), name]
        first = self.places.setdefault(key, here)
        same = {} if first == here else {"same_as": first}
        seen = training_overlap.remarks(self.part, name, placed, result)
        for remark in seen:
            progress.warn(f"{title}: {remark}")
        said = [*result.get("warnings", ()), *remarks, *seen]
        notes = {"warnings": said} if said else {}  # of this recipe too, and not of the stage in the lab alone
        return _Finished(key, self.lab.stage(key), {**about, **same, **result, **notes})

    def _found(self, placed: StageLocation, title: str, about: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the result of a finished stage, with all that was said of it said again.

        None if it lacks a checkpoint that is wanted, so that it is trained once more.
        """
        result = self.lab.result(placed.key) if is_complete(self.lab.stage(placed.key), placed.keep) else None
        if result is None:
            return None
        self.log({"event": "found", **about, "key": placed.key})
        progress.say(f"{title}: found in the lab")
        for warning in result.get("warnings", ()):
            progress.warn(f"{title}: {warning}")
        for warning in result.get("input_warnings", ()):
            if warning not in self.told:
                self.told.add(warning)
                progress.warn(warning)
        return result

    def _compute(self, stage: Stage, context: Context, title: str) -> dict[str, Any]:
        self._check_resources()
        self.log({"event": "start", "stage": context.name, "task": context.data.name or None, "seed": context.seed, "key": context.key})
        started = time.perf_counter()
        result = guarded(stage, context)
        seconds = time.perf_counter() - started
        cost = {"seconds": seconds + result.pop("earlier_seconds", 0.0)}  # of the tries before an interruption
        for measured in ("training_seconds", "prediction_seconds"):
            if measured in result:
                cost[measured] = result.pop(measured)
        result["cost"] = cost
        if context.warnings:
            result["warnings"] = list(context.warnings)
        if context.input_warnings:
            result["input_warnings"] = list(context.input_warnings)
        if (problem := find_impossible(result)) is not None:
            raise TicketlabError(f"{context.name}: the stage's result cannot be stored: {problem}")
        files.write_json(context.directory / RESULT, integrity.seal(context.directory, result, without=UNTIL_DONE))
        for name in UNTIL_DONE:
            (context.directory / name).unlink(missing_ok=True)
        self.log({"event": "finished", "stage": context.name, "task": context.data.name or None, "seed": context.seed, **result})
        progress.say(f"{title}: {seconds:.1f} s")
        return result
