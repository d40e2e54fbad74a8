"""What a run would do: its stages and whether their results are in the lab, found out without computing anything."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ticketlab.backbone import loading
from ticketlab.backbone.device import be_deterministic, pick_precision
from ticketlab.core.errors import ResourceError, Unavailable, UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab.lab import Lab
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs import fingerprint, preflight
from ticketlab.runs.stage_cache import is_complete, load_task, locate, needs_model
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets import challenge_sets

T = TypeVar("T")
IN_LAB, MISSING = "in the lab", "to be computed"


def describe(recipe: Recipe, lab: str | Path) -> Iterator[str]:
    """Yield a line for each stage of each task and seed, after checking all that a run checks before it computes.

    What a run would need and this machine lacks (a data set or model of the hub, the resources of an attack) is named in a line of its own.

    :raises TicketlabError: what :func:`ticketlab.runs.run.run` would raise before computing anything.
    """
    be_deterministic()
    absent: list[str] = []

    def here(read: Callable[[], T]) -> T | None:
        try:
            return read()
        except (Unavailable, ResourceError) as problem:
            absent.append(str(problem))
            return None

    data = {task.label: here(functools.partial(load_task, recipe.of(task), task)) for task in recipe.tasks}
    sets = {task.label: here(functools.partial(challenge_sets.load, task)) for part in recipe.parts() for task in part.ood}
    model = here(functools.partial(_model, recipe)) if any(map(needs_model, recipe.parts())) else ""
    here(functools.partial(preflight.resources, recipe))
    for part in recipe.parts():
        own = [read for task in part.tasks if (read := data[task.label])]
        ood = [read for task in part.ood if (read := sets[task.label])]
        if len(ood) == len(part.ood):
            preflight.labels(part, own, ood)
        preflight.measures(part, own)
        here(functools.partial(preflight.references, part))
        preflight.bias_files(part, own)
        preflight.augmentations(part, own)
    yield from (f"note: {line}" for line in dict.fromkeys(absent))
    if model is None or None in sets.values() or not any(data.values()):
        yield "so the stages are not looked up in the lab"
        return
    for task in recipe.tasks:
        if read := data[task.label]:
            part = recipe.of(task)
            ood = [one for other in part.ood if (one := sets[other.label])]
            for seed in recipe.seeds:
                yield from _stages(part, Lab(Path(lab)), task.label, read, ood, model, seed)


def _model(recipe: Recipe) -> str:
    """Return the resolved model.

    :raises Unavailable: it is a name on the hub, neither cached nor reachable.
    """
    model = loading.resolve_model(recipe.model)
    try:
        fingerprint.of_model(model)
    except UsageError as problem:
        if Path(model).exists():
            raise
        raise Unavailable(str(problem)) from problem
    return model


def _stages(recipe: Recipe, lab: Lab, task: str, data: TaskData, ood: list[TaskData], model: str, seed: int) -> Iterator[str]:
    earlier: dict[str, tuple[str, Path]] = {}
    found: dict[str, bool] = {}
    for name in recipe.stages:
        placed = locate(
            recipe, name, task=task, data=data, ood=ood, model=model, precision=pick_precision(recipe.precision), seed=seed, earlier=earlier
        )
        folder = lab.stage(placed.key)
        earlier[name] = placed.key, folder
        found[name] = is_complete(folder, placed.keep) and lab.result(placed.key) is not None
        yield f"{task} seed {seed} {name}: {IN_LAB if found[name] else MISSING}"
    yield f"{task} seed {seed}: {sum(found.values())} of {counted(len(found), 'stage')} {IN_LAB} at {lab.root}"
