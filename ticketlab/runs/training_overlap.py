"""What is said of evaluated and attacked examples that the model was trained on, by the counts in the results of stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ticketlab.core import formatting
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs.preflight import mixes
from ticketlab.runs.stage_cache import StageLocation
from ticketlab.tasks import trained_on
from ticketlab.tasks.base import TaskData

WORDS = {
    trained_on.TRAIN: "among those that the model was trained on: its numbers there do not show how it does on new texts",
    trained_on.SWAPPED: "pairs that the model was trained on in the other order",
    trained_on.TEXT: "in the text whose words the model or its ticket learnt to guess",
    trained_on.DEV: "among those that the model was selected on: its numbers there may be better than on new texts",
}
DATA_TELL = {trained_on.TRAIN: "{} texts in train", trained_on.SWAPPED: "{} pairs in train in the other order"}
"""The counts of a data set (:mod:`ticketlab.tasks.assembly.repeats`) that come with a warning of their own, by the split."""


def remarks(recipe: Recipe, name: str, placed: StageLocation, result: Mapping[str, Any]) -> list[str]:
    """Return a line for each set that a stage measured on texts its model had seen.

    The run warns of what its own data have in training and in another split as it reads them; that is not said again of a model that it
    trains. Nor is anything said of an attack whose texts a training is to learn from.
    """
    if any(stage.references().get("augment") == name for stage in recipe.stages.values()):
        return []
    told = placed.inputs["model"].inside if "model" in placed.inputs else False
    return [
        f"{number} of {whole} {verb} texts of {data.name} ({split}) {formatting.verb(number)} {WORDS[kind]}"
        for data, split, verb, whole, counts in _measured(placed, result)
        for kind, number in counts.items()
        if number and not (told and number <= _told(kind, split, data, placed.data, mixed=mixes(recipe)))
    ]


def _measured(placed: StageLocation, result: Mapping[str, Any]) -> Iterator[tuple[TaskData, str, str, int, Mapping[str, int]]]:
    """Yield (data, split, what was done, examples, counts) of each set for which the result has counts."""
    ood = result.get("ood", {})
    for data, found in ((placed.data, result.get("clean", {})), *((one, ood.get(one.name, {})) for one in placed.ood)):
        if "trained_on" in found:
            yield data, found["split"], "evaluated", found["n"], found["trained_on"]
    sample = result.get("sample", {})
    if "trained_on" in sample:
        yield placed.data, sample["split"], "attacked", sample["size"], sample["trained_on"]


def _told(kind: str, split: str, data: TaskData, task: TaskData, *, mixed: bool) -> int:
    """Return the examples of a split of which the data's own warnings tell as much."""
    if kind not in DATA_TELL:
        return 0
    own = data.counts.get(DATA_TELL[kind].format(split), 0) if data is task or mixed else 0
    return own + (data.counts.get(f"{split} texts in train of {task.name}", 0) if kind == trained_on.TRAIN else 0)
