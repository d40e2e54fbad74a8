"""Runs one stage of a recipe: takes its result from the lab if it is there, otherwise computes and stores it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from ticketlab.core import progress
from ticketlab.core.component import Precision
from ticketlab.core.errors import TicketlabError
from ticketlab.core.settings import to_table
from ticketlab.lab import integrity
from ticketlab.lab.lab import Lab
from ticketlab.lab.layout import is_stage
from ticketlab.lab.mirror import REPEAT
from ticketlab.lab.results import find_impossible
from ticketlab.recipes import ineffective_settings, task_groups
from ticketlab.recipes.recipe import Recipe
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.runs import listeners, results_metadata, training_overlap
from ticketlab.runs.log import Log
from ticketlab.runs.run_inputs import RunInputs
from ticketlab.runs.stage_cache import ResolvedStage, cached_result, resolve_stage
from ticketlab.runs.stage_errors import run_explaining_errors
from ticketlab.stages.base import Context, Input, Stage
from ticketlab.stages.result import check_files, check_result
from ticketlab.tasks.base import TaskData

if TYPE_CHECKING:
    from ticketlab.attacks.engine.executor import AttackExecution

Starting = Callable[[str, str, str], None]
"""Called with the task, the stage and its key before a stage is computed or taken from the lab."""


@frozen
class TaskOfRun:
    """One task of a run with one seed. ``recipe`` has the settings of this task."""

    label: str
    recipe: Recipe
    data: TaskData
    seed: int


@frozen
class FinishedStage:
    """A finished stage: its key, its folder in the lab, and its entry in ``results.json``."""

    key: str
    folder: Path
    result: Mapping[str, Any]


class StageRunner:
    """Runs the stages of a recipe in a lab, and remembers what it has checked and reported."""

    def __init__(
        self,
        inputs: RunInputs,
        lab: Lab,
        precision: Precision,
        log: Log,
        starting: Starting,
        keep: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.inputs = inputs
        self.names = inputs.names()
        self.keep = keep or {}
        """The checkpoints that stages of other recipes start from, by the key of the stage that saves them."""
        self.lab = lab
        self.precision = precision
        self.log = log
        self.starting = starting
        self.resources_checked = False
        self.attack_execution: AttackExecution | None = None
        """The workers that attacks share their examples out to."""
        self.reported_input_warnings: set[str] = set()
        self.first_uses: dict[str, list[str]] = {}
        """The task, seed and stage that used each key first."""

    def run(self, name: str, stage: Stage, task: TaskOfRun, finished: Mapping[str, FinishedStage]) -> FinishedStage:
        """Return the stage ``name``, taken from the lab or computed. ``finished`` has the stages of the task and seed before it.

        :raises TicketlabError: the stage fails, or the lab is read-only and does not have it.
        """
        resolved = resolve_stage(
            task.recipe,
            name,
            task=task.label,
            data=task.data,
            ood=self.inputs.ood(task.recipe),
            model=self.inputs.model_fingerprint,
            precision=self.precision,
            seed=task.seed,
            earlier={earlier: (done.key, done.folder) for earlier, done in finished.items()},
            own=self.inputs.own,
        )
        key, data = resolved.key, resolved.data
        resolved = evolve(resolved, keep=sorted({*resolved.keep, *self.keep.get(key, ())}))
        self.starting(task.label, name, key)
        about = {
            "run": self.log.run, "stage": name, "kind": stage.name, "task": data.name, "seed": task.seed, "key": key,
            "settings": to_table(stage), "directory": self.lab.stage(key).absolute(),
        }  # fmt: skip
        listeners.notify("ticketlab_stage_started", **about)
        title = f"{data.name} seed {task.seed} {name}".lstrip()
        ineffective = ineffective_settings.stage_warnings(task.recipe, name)
        for warning in ineffective:
            progress.warn(f"{title}: {warning}")
        fields = {"stage": name, "task": data.name or None, "seed": task.seed}
        result = self._from_lab(resolved, title, fields)
        found = result is not None
        if result is None:
            before = self.lab.traffic()
            with self.lab.lock(key, title) as folder:
                for source in resolved.inputs.values():
                    self._fetch(source)
                context = Context(
                    directory=folder,
                    key=key,
                    name=name,
                    model=self.inputs.model,
                    max_length=stage.longest(task.recipe.max_length),
                    data=data,
                    seed=task.seed,
                    precision=self.precision,
                    inputs=resolved.inputs,
                    log=lambda record: self.log({**record, "task": data.name or None, "seed": task.seed}),
                    ood=resolved.ood,
                    ood_map=task.recipe.ood_map,
                    keep=resolved.keep,
                    printed=self.reported_input_warnings,
                    attack_execution=self.attack_execution,
                )
                result = self._from_lab(resolved, title, fields)  # another process may have finished it in the meantime
                found = result is not None
                result = result if result is not None else self._compute(stage, context, title)
            if moved := {name: number - before[name] for name, number in self.lab.traffic().items()}:
                self.log({"event": "store", **fields, "key": key, **moved})
        listeners.notify("ticketlab_stage_finished", **about, found=found, result=result)
        own = task_groups.own_task(task.recipe, name)
        of_task = {} if own is None else {"task": self.names[own]}
        metadata = {"kind": stage.name, "key": key, "seed": task.seed, **of_task, **results_metadata.stage_metadata(stage, finished)}
        here = [task.label, str(task.seed), name]
        first = self.first_uses.setdefault(key, here)
        same = {} if first == here else {"same_as": first}
        overlaps = training_overlap.overlap_warnings(task.recipe, name, resolved, result)
        for warning in overlaps:
            progress.warn(f"{title}: {warning}")
        warnings = [*result.get("warnings", ()), *ineffective, *overlaps]  # the latter two depend on the recipe: the lab has only the first
        return FinishedStage(key, self.lab.stage(key), {**metadata, **same, **result, **({"warnings": warnings} if warnings else {})})

    def _fetch(self, source: Input) -> None:
        """Make the files of a stage available that another one takes as input, if it is in this lab.

        :raises TicketlabError: another process has removed the stage since it was found in the lab.
        """
        for key in integrity.keys_in(f"{source.location} {source.made_in}"):
            self.lab.fetch(key)
        if source.inside and not is_stage(Path(source.location)):
            raise TicketlabError(f"{source.location} was removed from the lab, as by `ticketlab lab gc`: {REPEAT}")

    def _from_lab(self, stage: ResolvedStage, title: str, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the result of a stage that is in the lab, and print its warnings again; None if it must be computed."""
        result = cached_result(self.lab, stage)
        if result is None:
            return None
        self.log({"event": "found", **fields, "key": stage.key})
        progress.say(f"{title}: found in the lab")
        for warning in result.get("warnings", ()):
            progress.warn(f"{title}: {warning}")
        for warning in result.get("input_warnings", ()):
            if warning not in self.reported_input_warnings:
                self.reported_input_warnings.add(warning)
                progress.warn(warning)
        return result

    def _compute(self, stage: Stage, context: Context, title: str) -> dict[str, Any]:
        """Run a stage, store its result in the lab and return it."""
        self._prepare_attacks()
        self.log({"event": "start", "stage": context.name, "task": context.data.name or None, "seed": context.seed, "key": context.key})
        started = time.perf_counter()
        result = run_explaining_errors(stage, context)
        check_result(stage.name, result)
        check_files(stage.name, stage.replaces, context.directory)
        result = {"kind": stage.name, **result}
        seconds = time.perf_counter() - started
        cost = {"seconds": seconds + result.pop("earlier_seconds", 0.0)}  # of attempts that were interrupted
        for measured in ("training_seconds", "prediction_seconds"):
            if measured in result:
                cost[measured] = result.pop(measured)
        result["cost"] = cost
        if input_keys := _input_keys(context.inputs):
            result["input_keys"] = input_keys
        if context.warnings:
            result["warnings"] = list(context.warnings)
        if context.input_warnings:
            result["input_warnings"] = list(context.input_warnings)
        if (problem := find_impossible(result)) is not None:
            raise TicketlabError(f"{context.name}: the stage's result cannot be stored: {problem}")
        self.lab.finish(context.key, result)
        self.log({"event": "finished", "stage": context.name, "task": context.data.name or None, "seed": context.seed, **result})
        progress.say(f"{title}: {seconds:.1f} s")
        return result

    def _prepare_attacks(self) -> None:
        """Check that the resources of all attacks are available before the first stage is computed, not after hours of training.

        Not called if all stages are in the lab.
        """
        if self.resources_checked:
            return
        self.resources_checked = True
        attacks = [attack for stage in self.inputs.stages for attack in getattr(stage, "attacks", ())]
        for attack in attacks:
            attack.prepare()
        if attacks:
            import_textattack()


def _input_keys(inputs: Mapping[str, Input]) -> dict[str, str]:
    """Return the keys of the stages that a stage used, by setting: `ticketlab lab gc` keeps them with it."""
    found = {name: integrity.keys_in(f"{source.location} {source.made_in}") for name, source in inputs.items()}
    return {name: keys[-1] for name, keys in found.items() if keys}
