"""What a run would do: its stages and whether their results are in the lab, found out without computing anything."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ticketlab.backbone import loading
from ticketlab.backbone.device import be_deterministic, pick_precision
from ticketlab.errors import ResourceError, Unavailable, UsageError
from ticketlab.lab import checks, fingerprint
from ticketlab.lab.lab import Lab
from ticketlab.lab.placing import is_complete, load_task, needs_model, place
from ticketlab.recipe import Recipe
from ticketlab.tasks import challenge
from ticketlab.tasks.base import TaskData
from ticketlab.wording import counted

T = TypeVar("T")
IN_LAB, MISSING = "in the lab", "to be computed"


def describe(recipe: Recipe, lab: str | Path) -> Iterator[str]:
    """Yield a line for each stage of each task and seed, after checking all that a run checks before it computes.

    What a run would need and this machine lacks (a data set or model of the hub, the resources of an attack) is named in a line of its own.

    :raises TicketlabError: what :func:`ticketlab.lab.run.run` would raise before computing anything.
    """
    be_deterministic()
    absent: list[str] = []

    def here(read: Callable[[], T]) -> T | None:
        try:
            return read()
        except (Unavailable, ResourceError) as problem:
            absent.append(str(problem))
            return None

    data = [here(functools.partial(load_task, recipe, task)) for task in recipe.tasks]
    ood = [here(functools.partial(challenge.load, task)) for task in recipe.ood]
    if None not in data and None not in ood:
        checks.labels(recipe, [read for read in data if read], [read for read in ood if read])
    model = here(functools.partial(_model, recipe)) if needs_model(recipe) else ""
    here(functools.partial(checks.references, recipe))
    for stage in recipe.stages.values():
        for attack in getattr(stage, "attacks", ()):
            here(attack.prepare)
    known = [read for read in data if read is not None]
    checks.bias_files(recipe, known)
    checks.augmentations(recipe, known)
    yield from (f"note: {line}" for line in dict.fromkeys(absent))
    if model is None or None in ood or not known:
        yield "so the stages are not looked up in the lab"
        return
    for read in known:
        for seed in recipe.seeds:
            yield from _stages(recipe, Lab(Path(lab)), read, [one for one in ood if one], model or "", seed)


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


def _stages(recipe: Recipe, lab: Lab, data: TaskData, ood: list[TaskData], model: str, seed: int) -> Iterator[str]:
    earlier: dict[str, tuple[str, Path]] = {}
    found = []
    for name in recipe.stages:
        placed = place(
            recipe, name, data=data, ood=ood, model=model, precision=pick_precision(recipe.precision), seed=seed, earlier=earlier
        )
        folder = lab.stage(placed.key)
        earlier[name] = placed.key, folder
        found.append((name, is_complete(folder, placed.keep) and lab.result(placed.key) is not None))
    for name, done in found:
        yield f"{data.name} seed {seed} {name}: {IN_LAB if done else MISSING}"
    done = sum(done for _, done in found)
    yield f"{data.name} seed {seed}: {done} of {counted(len(found), 'stage')} {IN_LAB} at {lab.root}"
