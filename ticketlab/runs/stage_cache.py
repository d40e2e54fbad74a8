"""Where a stage's result lies: its key, from its settings, its inputs, the data and the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from attrs import evolve, frozen

from ticketlab.backbone.device import pick_device
from ticketlab.lab.layout import model_folder
from ticketlab.recipes.recipe import Recipe, split_checkpoint
from ticketlab.runs import external_inputs, fingerprint
from ticketlab.runs.stage_key import stage_key
from ticketlab.stages.base import Input
from ticketlab.tasks.base import Task, TaskData

NO_TASK = TaskData("", (), (), {"train": (), "dev": (), "test": ()}, "")
"""The data of a stage that does not use the task."""


@frozen
class StageLocation:
    """A stage of a run with all that decides its result. ``data`` is :data:`NO_TASK` and ``ood`` empty where it does not use them.

    ``keep`` names the checkpoints that other stages of the recipe start from.
    """

    key: str
    inputs: Mapping[str, Input]
    data: TaskData
    ood: Sequence[TaskData]
    keep: Sequence[str]


def locate(
    recipe: Recipe,
    name: str,
    *,
    task: str,
    data: TaskData,
    ood: Sequence[TaskData],
    model: str,
    precision: str,
    seed: int,
    earlier: Mapping[str, tuple[str, Path]],
) -> StageLocation:
    """Return the place of the recipe's stage ``name``, for the task of this name and its ``data``.

    ``recipe`` is that of the task (:meth:`ticketlab.recipes.recipe.Recipe.of`); ``earlier`` has the key and the folder of each stage before
    it.

    :raises UsageError: a file or model that a reference names is not there.
    """
    stage = recipe.stages[name]
    if not stage.uses_task:
        data = NO_TASK
    ood = ood if stage.uses_ood else ()
    inputs: dict[str, Input] = {}
    keys: dict[str, str] = {}
    for field, value in stage.references().items():
        named, at = split_checkpoint(value)
        if named in earlier:
            key, folder = earlier[named]
            inputs[field] = Input(str(folder), is_stage=True, at=at, inside=True)
            keys[field] = f"{key}@{at}" if at else key
        else:
            inputs[field], keys[field] = external_inputs.resolve(field, value, task, seed)
    sets = (*(f"{read.name} {read.fingerprint}" for read in ood), *recipe.ood_map) if ood else ()
    key = stage_key(
        stage,
        inputs=keys,
        outside=fingerprint.of_external_input(stage.external_inputs()),
        data="+".join((data.fingerprint, *sets)),
        model=fingerprint.of_model(model) if model else "",
        max_length=stage.longest(recipe.max_length),
        precision=precision,
        seed=seed,
        threads=torch.get_num_threads() if pick_device().type == "cpu" else 0,
    )
    return StageLocation(key, inputs, data, ood, wanted_checkpoints(recipe, name))


def wanted_checkpoints(recipe: Recipe, name: str) -> list[str]:
    """Return the checkpoints of a training that other stages start from."""
    values = [split_checkpoint(value) for stage in recipe.stages.values() for value in stage.references().values()]
    return sorted({at for named, at in values if named == name and at})


def is_complete(folder: Path, keep: Sequence[str]) -> bool:
    """Say whether a finished stage has the checkpoints that are wanted; if not, it is trained once more."""
    return all((folder / model_folder(at)).is_dir() for at in keep)


def needs_model(recipe: Recipe) -> bool:
    """Say whether a stage loads the model of the recipe."""
    return any(stage.name in ("train", "search", "draw") or getattr(stage, "needs_model", False) for stage in recipe.stages.values())


def load_task(recipe: Recipe, task: Task) -> TaskData:
    """Read a task of the recipe, sampled as the recipe says where the task does not."""
    return (evolve(task, train_rows=recipe.train_rows) if task.train_rows is None else task).load()
