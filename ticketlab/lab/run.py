"""Running a recipe in a lab: each stage once, its result taken from the lab where it is there already."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

import ticketlab
from ticketlab import files, progress, registry
from ticketlab.attacks.shim import import_textattack
from ticketlab.backbone import loading
from ticketlab.backbone.device import be_deterministic, pick_precision, remember_shapes
from ticketlab.errors import PluginError, TicketlabError, UsageError
from ticketlab.lab import checks, environment, fingerprint
from ticketlab.lab.key import components_in
from ticketlab.lab.lab import Lab
from ticketlab.lab.log import Log
from ticketlab.lab.placing import Placed, is_complete, load_task, needs_model, place
from ticketlab.recipe import Recipe, named_checkpoint
from ticketlab.stages.base import RESULT, TICKET, UNTIL_DONE, Context, Stage
from ticketlab.tasks import challenge
from ticketlab.tasks.base import TaskData
from ticketlab.training.objective import Precision

SCHEMA = 1


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

    Leaves a run directory with ``recipe.toml``, ``environment.json``, ``log.jsonl``, ``results.json`` and ``tickets/``. ``starting`` is
    called with the task, the stage and its key before each stage is computed or looked up; what it raises ends the run.

    :raises UsageError: the recipe has no task, or something that a stage needs is not there; nothing was computed then.
    :raises Interrupted: Ctrl-C; the same call goes on from there.
    """
    if not recipe.tasks:
        raise UsageError("the recipe has no task; name one with --task (a registered name, a file or a folder)")
    be_deterministic()
    remember_shapes()
    runner = _Runner(recipe, Lab(Path(lab)), starting or (lambda *_: None))
    return runner.run()


class _Runner:
    def __init__(self, recipe: Recipe, lab: Lab, starting: Starting) -> None:
        self.recipe = recipe
        self.lab = lab
        self.starting = starting
        self.precision: Precision = pick_precision(recipe.precision)
        self.checked = False

    def run(self) -> Run:
        data = [load_task(self.recipe, task) for task in self.recipe.tasks]
        self.ood = tuple(challenge.load(task) for task in self.recipe.ood)
        checks.labels(self.recipe, data, self.ood)
        model = loading.resolve_model(self.recipe.model) if needs_model(self.recipe) else ""
        checks.references(self.recipe)
        checks.bias_files(self.recipe, data)
        checks.augmentations(self.recipe, data)
        self.directory = self.lab.run_folder(self.recipe.name, self._digest(data))
        self.log = Log(self.directory / "log.jsonl")
        files.write_text(self.directory / "recipe.toml", self.recipe.to_toml())
        files.write_json(self.directory / "environment.json", environment.describe() | {"precision": self.precision})
        for task, read in zip(self.recipe.ood, self.ood, strict=True):
            self._say_data(task.label, read)
        tasks: dict[str, Any] = {}
        for task, read in zip(self.recipe.tasks, data, strict=True):
            self._say_data(task.label, read)
            self.task = task.label
            tasks[task.label] = {str(seed): self._seed(read, model, seed) for seed in self.recipe.seeds}
        results = {
            "schema": SCHEMA,
            "ticketlab": ticketlab.__version__,
            "recipe": self.recipe.name,
            "scale": self.recipe.scale,
            "model": self.recipe.model,
            "precision": self.precision,
            "digest": self.recipe.digest(),
            "seeds": list(self.recipe.seeds),
            "ood": [read.name for read in self.ood],
            "data": {read.name: _about(read) for read in (*data, *self.ood)},
            "tasks": tasks,
        }
        files.write_json(self.directory / "results.json", results)
        return Run(self.directory, results)

    def _digest(self, data: Sequence[TaskData]) -> str:
        """Return what tells this run from others of its recipe's name: the recipe, the data, other files and the code of plugins."""
        parts = [part for stage in self.recipe.stages.values() for part in components_in(stage)]
        versions = sorted(f"{part.kind}/{part.name} {registry.current().version(part)}" for part in parts)
        others = [
            f"{name} {found}" for stage in self.recipe.stages.values() for name, found in fingerprint.of_outside(stage.outside()).items()
        ]
        sets = [f"{read.name} {read.fingerprint}" for read in self.ood]
        whole = [self.recipe.digest(), *(read.fingerprint for read in data), *sets, *others, *versions]
        return hashlib.sha256("\n".join(whole).encode()).hexdigest()

    def _check_resources(self) -> None:
        """Find out what an attack lacks before hours of training, not after; where all is in the lab already, nothing is asked."""
        if self.checked:
            return
        self.checked = True
        attacks = [attack for stage in self.recipe.stages.values() for attack in getattr(stage, "attacks", ())]
        for attack in attacks:
            attack.prepare()
        if attacks:
            import_textattack()

    def _say_data(self, label: str, data: TaskData) -> None:
        sizes = ", ".join(f"{len(examples)} {split}" for split, examples in data.splits.items())
        names = ", ".join(f"{index}={name}" for index, name in enumerate(data.label_names))
        dropped = "".join(f"; {count} rows dropped ({reason})" for reason, count in data.dropped.items() if count)
        counts = "".join(f"; {count} {what}" for what, count in data.counts.items() if count)
        progress.say(f"{label}: {sizes}; texts from {', '.join(data.columns)}; labels {names}{dropped}{counts}")
        for notice in data.notices:
            progress.say(f"{label}: {notice}")
        for warning in data.warnings:
            progress.warn(f"{label}: {warning}")

    def _seed(self, data: TaskData, model: str, seed: int) -> dict[str, Any]:
        finished: dict[str, _Finished] = {}
        for name, stage in self.recipe.stages.items():
            finished[name] = self._stage(name, stage, data, model, seed, finished)
            if stage.name == "draw":
                target = self.directory / "tickets" / f"{data.name}-{name}-seed{seed}.safetensors"
                source = finished[name].folder / TICKET
                files.replace(target, functools.partial(shutil.copyfile, source))
        return {name: dict(done.result) for name, done in finished.items()}

    def _stage(self, name: str, stage: Stage, data: TaskData, model: str, seed: int, finished: Mapping[str, _Finished]) -> _Finished:
        placed = place(
            self.recipe,
            name,
            data=data,
            ood=self.ood,
            model=model,
            precision=self.precision,
            seed=seed,
            earlier={earlier: (done.key, done.folder) for earlier, done in finished.items()},
        )
        key, data = placed.key, placed.data
        self.starting(self.task, name, key)
        title = f"{data.name} seed {seed} {name}".lstrip()
        result = self._found(placed)
        if result is None:
            with self.lab.lock(key, title) as folder:
                result = self._found(placed)  # another process may have finished it meanwhile
                if result is None:
                    result = self._compute(
                        stage,
                        Context(
                            directory=folder,
                            key=key,
                            name=name,
                            model=model,
                            max_length=self.recipe.max_length,
                            data=data,
                            seed=seed,
                            precision=self.precision,
                            inputs=placed.inputs,
                            log=lambda record: self.log({**record, "task": data.name or None, "seed": seed}),
                            ood=placed.ood,
                            ood_map=self.recipe.ood_map,
                            keep=placed.keep,
                        ),
                        title,
                    )
        else:
            self.log({"event": "found", "stage": name, "task": data.name or None, "seed": seed, "key": key})
            progress.say(f"{title}: found in the lab")
            for warning in result.get("warnings", ()):
                progress.warn(f"{title}: {warning}")
        registry.current().notify("ticketlab_stage_finished", stage=name, result=result)
        own = {"of": named_checkpoint(stage.references()["model"])[0]} if "model" in stage.references() else {}
        return _Finished(key, self.lab.stage(key), {"kind": stage.name, "key": key, "seed": seed, **own, **result})

    def _found(self, placed: Placed) -> dict[str, Any] | None:
        """Return the result of a finished stage; None if it lacks a checkpoint that is wanted, so that it is trained once more."""
        return self.lab.result(placed.key) if is_complete(self.lab.stage(placed.key), placed.keep) else None

    def _compute(self, stage: Stage, context: Context, title: str) -> dict[str, Any]:
        self._check_resources()
        self.log({"event": "start", "stage": context.name, "task": context.data.name or None, "seed": context.seed, "key": context.key})
        started = time.perf_counter()
        result = _guarded(stage, context)
        seconds = time.perf_counter() - started
        cost = {"seconds": seconds + result.pop("earlier_seconds", 0.0)}  # of the tries before an interruption
        for measured in ("training_seconds", "prediction_seconds"):
            if measured in result:
                cost[measured] = result.pop(measured)
        result["cost"] = cost
        if context.warnings:
            result["warnings"] = list(context.warnings)
        files.write_json(context.directory / RESULT, result)
        for name in UNTIL_DONE:
            (context.directory / name).unlink(missing_ok=True)
        self.log({"event": "finished", "stage": context.name, "task": context.data.name or None, "seed": context.seed, **result})
        progress.say(f"{title}: {seconds:.1f} s")
        return result


def _about(data: TaskData) -> dict[str, Any]:
    """Return what results say of a data set beside the numbers on it."""
    return {
        "fingerprint": data.fingerprint,
        "rows": {split: len(examples) for split, examples in data.splits.items()},
        "columns": list(data.columns),
        "labels": list(data.label_names),
        "dropped": dict(data.dropped),
        "counts": dict(data.counts),
        "notices": list(data.notices),
        "warnings": list(data.warnings),
    }


def _guarded(stage: Stage, context: Context) -> dict[str, Any]:
    """Run a stage; an unforeseen error of one that has components of plugins is theirs until shown otherwise.

    :raises PluginError: such an error.
    """
    plugins = {part: source for part in components_in(stage) if (source := registry.current().source(part)).version != "built-in"}
    try:
        return stage.run(context)
    except TicketlabError:
        raise
    except Exception as problem:
        if not plugins or os.environ.get("TICKETLAB_DEBUG") == "1":
            raise
        names = ", ".join(f"the {part.kind} `{part.name}` of {source.label}" for part, source in plugins.items())
        message = " ".join(f"{type(problem).__name__}: {problem or _function(problem)}".split())
        raise PluginError(f"{context.name}: {message}; look at {names} first (TICKETLAB_DEBUG=1 shows the traceback)") from problem


def _function(problem: Exception) -> str:
    """Return where an error without words was raised."""
    *_, frame = traceback.extract_tb(problem.__traceback__)
    return f"in `{frame.name}`"
