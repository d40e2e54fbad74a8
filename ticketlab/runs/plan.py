"""The plan of a run, for ``--dry-run``: its stages and whether they are in the lab. Nothing is computed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from ticketlab.backbone import fingerprint, loading
from ticketlab.backbone.device import be_deterministic, pick_precision
from ticketlab.core.errors import ResourceError, Unavailable, UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab.lab import Lab
from ticketlab.lab.open_lab import open_lab
from ticketlab.recipes import task_groups
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs import preflight, task_checks
from ticketlab.runs.input_cache import InputCache
from ticketlab.runs.run_inputs import RunInputs, needs_model
from ticketlab.runs.stage_cache import cached_result, resolve_stage
from ticketlab.tasks.base import Task, TaskData

T = TypeVar("T")
IN_LAB, MISSING = "in the lab", "to be computed"


def describe(recipe: Recipe, lab: str | Path) -> Iterator[str]:
    """Yield a line for each stage of each task and seed, after running the checks that a run makes before it computes anything.

    The data sets that are on this machine are reported as in a run, but without their overlaps. Anything that the run needs and this
    machine lacks (a data set or model from the Hugging Face hub, the resources of an attack) is listed on separate lines.

    :raises TicketlabError: any error that :func:`ticketlab.runs.run.run` would raise before computing anything.
    """
    preflight.check_precision(recipe)
    preflight.check_files_of_tasks(recipe)
    be_deterministic()
    unavailable: list[str] = []

    def if_available(load: Callable[[], T]) -> T | None:
        try:
            return load()
        except (Unavailable, ResourceError) as problem:
            unavailable.append(str(problem))
            return None

    cache = InputCache()
    tasks = {task.label: if_available(functools.partial(cache.task, recipe.of(task), task)) for task in recipe.tasks}
    challenge_sets = [task for part in recipe.parts() for task in part.challenge_sets]
    sets = {task.label: if_available(functools.partial(cache.challenge_set, task)) for task in challenge_sets}
    own = {task: if_available(functools.partial(cache.task, recipe, task)) for task in task_groups.own_tasks(recipe)}
    model = if_available(functools.partial(_model, recipe)) if any(map(needs_model, recipe.parts())) else ""
    if_available(functools.partial(preflight.check_resources, recipe))
    known = {task: data for task, data in own.items() if data}
    for part in recipe.parts():
        of_part = [data for task in part.tasks if (data := tasks[task.label])]
        ood = [data for task in part.ood if (data := sets[task.label])]
        task_checks.check_data(part, of_part, ood if len(ood) == len(part.ood) else None, known)
        if_available(functools.partial(preflight.check_references, part))
        if_available(functools.partial(task_checks.check_external_classifiers, part, of_part, known))
        task_checks.check_files_of_examples(part, of_part, known)
    data_of_tasks, data_of_sets = ({label: data for label, data in found.items() if data} for found in (tasks, sets))
    RunInputs(recipe, data_of_tasks, data_of_sets, "", "", known).report()
    yield from (f"note: {line}" for line in dict.fromkeys(unavailable))
    if model is None or None in (*sets.values(), *own.values()) or not any(tasks.values()):
        yield "so the stages are not looked up in the lab"
        return
    for task in recipe.tasks:
        if data := tasks[task.label]:
            part = recipe.of(task)
            ood = [challenge_set for other in part.challenge_sets if (challenge_set := sets[other.label])]
            for seed in recipe.seeds:
                yield from _stages(part, open_lab(lab), task.label, data, ood, model, seed, known)


def _model(recipe: Recipe) -> str:
    """Return the fingerprint of the model.

    :raises Unavailable: it is the name of a model on the hub that is neither cached nor reachable.
    """
    model = loading.resolve_model(recipe.model)
    try:
        return fingerprint.of_model(model)
    except UsageError as problem:
        if Path(model).exists():
            raise
        raise Unavailable(str(problem)) from problem


def _stages(
    recipe: Recipe, lab: Lab, task: str, data: TaskData, ood: list[TaskData], model: str, seed: int, own: Mapping[Task, TaskData]
) -> Iterator[str]:
    precision = pick_precision(recipe.precision)
    earlier: dict[str, tuple[str, Path]] = {}
    in_lab: dict[str, bool] = {}
    for name in recipe.stages:
        stage = resolve_stage(
            recipe, name, task=task, data=data, ood=ood, model=model, precision=precision, seed=seed, earlier=earlier, own=own
        )
        earlier[name] = stage.key, lab.stage(stage.key)
        in_lab[name] = cached_result(lab, stage) is not None
        yield f"{task} seed {seed} {name}: {IN_LAB if in_lab[name] else MISSING}"
    yield f"{task} seed {seed}: {sum(in_lab.values())} of {counted(len(in_lab), 'stage')} {IN_LAB} at {lab.root}"
