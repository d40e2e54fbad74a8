"""Warnings about evaluated or attacked examples that the model was trained or selected on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ticketlab.core import formatting
from ticketlab.core.references import stage_of
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.task_groups import own_task
from ticketlab.runs.preflight import trains_on_challenge_sets
from ticketlab.runs.stage_cache import ResolvedStage
from ticketlab.tasks import trained_on
from ticketlab.tasks.base import TaskData

MESSAGES = {
    trained_on.TRAIN: "among those that the model was trained on: its numbers do not show how it performs on new texts",
    trained_on.SWAPPED: "pairs that the model was trained on in the other order",
    trained_on.TEXT: "in the text that the model or its ticket was trained on without labels",
    trained_on.DEV: "among those that the model was selected on: its numbers may be better than on new texts",
}
DATA_COUNTS = {trained_on.TRAIN: "{} texts in train", trained_on.SWAPPED: "{} pairs in train in the other order"}
"""The counts of a data set (:mod:`ticketlab.tasks.assembly.repeats`) that have their own warnings, with a placeholder for the split."""


def overlap_warnings(recipe: Recipe, name: str, stage: ResolvedStage, result: Mapping[str, Any]) -> list[str]:
    """Return a warning for each measured set with texts that the model was trained or selected on, according to the counts in the result.

    For a model that the run trains, overlaps between the splits of its own data are omitted: the run warns about them when it loads the
    data. There are no warnings for an attack whose texts augment a training stage.
    """
    if any(other.references().get("augment") == name for other in recipe.stages.values()):
        return []
    trained_here = "model" in stage.inputs and stage.inputs["model"].inside and _is_trained_on_own_data(recipe, name)
    mixed = trains_on_challenge_sets(recipe)
    return [
        f"{number} of {total} {verb} texts of {data.name} ({split}) {formatting.verb(number)} {MESSAGES[kind]}"
        for data, split, verb, total, counts in _measured_sets(stage, result)
        for kind, number in counts.items()
        if number and not (trained_here and number <= _already_reported(kind, split, data, stage.data, mixed=mixed))
    ]


def _is_trained_on_own_data(recipe: Recipe, name: str) -> bool:
    """Return whether the model that a stage measures is trained by a stage with the same task."""
    return own_task(recipe, stage_of(recipe.stages[name].references()["model"])) == own_task(recipe, name)


def _measured_sets(stage: ResolvedStage, result: Mapping[str, Any]) -> Iterator[tuple[TaskData, str, str, int, Mapping[str, int]]]:
    """Yield (data, split, "evaluated" or "attacked", number of examples, counts) for each set with counts in the result."""
    ood = result.get("ood", {})
    sets = ((stage.data, result.get("clean", {})), *((challenge_set, ood.get(challenge_set.name, {})) for challenge_set in stage.ood))
    for data, numbers in sets:
        if "trained_on" in numbers:
            yield data, numbers["split"], "evaluated", numbers["n"], numbers["trained_on"]
    sample = result.get("sample", {})
    if "trained_on" in sample:
        yield stage.data, sample["split"], "attacked", sample["size"], sample["trained_on"]


def _already_reported(kind: str, split: str, data: TaskData, task: TaskData, *, mixed: bool) -> int:
    """Return the number of examples of a split that the data's own warnings report."""
    if kind not in DATA_COUNTS:
        return 0
    own = data.counts.get(DATA_COUNTS[kind].format(split), 0) if data is task or mixed else 0
    return own + (data.counts.get(f"{split} texts in train of {task.name}", 0) if kind == trained_on.TRAIN else 0)
