"""All stages of a run with their keys, before any is computed: task by task, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from attrs import frozen

from ticketlab.recipes.recipe import Recipe
from ticketlab.runs.run_inputs import RunInputs
from ticketlab.runs.stage_cache import ResolvedStage, resolve_stage
from ticketlab.runs.stage_key import StageKeys
from ticketlab.tasks.base import Task


@frozen
class StageOfRun:
    """A stage of a run. ``recipe`` is that of the task, and ``earlier`` has the key and folder of each stage before it."""

    task: Task
    recipe: Recipe
    seed: int
    name: str
    resolved: ResolvedStage
    earlier: Mapping[str, tuple[str, Path]]


def stages_of_run(
    inputs: RunInputs, folder: Callable[[str], Path], precision: str, *, keys: StageKeys | None = None, threads: int | None = None
) -> Iterator[StageOfRun]:
    """Yield the stages of a run. ``folder`` returns that of a key in the lab; ``keys`` and ``threads`` are those of ``resolve_stage``.

    :raises UsageError: a file or model that the recipe refers to does not exist.
    """
    for task in inputs.recipe.tasks:
        recipe, label = inputs.recipe.of(task), task.label
        for seed in inputs.recipe.seeds:
            earlier: dict[str, tuple[str, Path]] = {}
            for name in recipe.stages:
                resolved = resolve_stage(
                    recipe,
                    name,
                    task=label,
                    data=inputs.data[label],
                    ood=inputs.ood(recipe),
                    model=inputs.model_fingerprint,
                    precision=precision,
                    seed=seed,
                    earlier=earlier,
                    own=inputs.own,
                    keys=keys,
                    threads=threads,
                )
                yield StageOfRun(task, recipe, seed, name, resolved, earlier)
                earlier = {**earlier, name: (resolved.key, folder(resolved.key))}
