"""Decides whether a stage is taken from the lab or computed: its key, and the result stored under that key.

A stage's key is the hash of everything its result depends on (:mod:`ticketlab.runs.stage_key`): its settings, inputs, data and model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from attrs import frozen

from ticketlab.backbone.device import pick_device
from ticketlab.lab.lab import Lab
from ticketlab.lab.layout import model_folder
from ticketlab.recipes.recipe import Recipe, split_checkpoint
from ticketlab.runs import external_inputs, fingerprint
from ticketlab.runs.stage_key import stage_key
from ticketlab.stages.base import Input
from ticketlab.tasks.base import TaskData

NO_TASK = TaskData("", (), (), {"train": (), "dev": (), "test": ()}, "")
"""The data of a stage that does not use the task."""


@frozen
class ResolvedStage:
    """A stage of a run with its key and inputs. ``data`` is :data:`NO_TASK` and ``ood`` is empty if the stage does not use them.

    ``keep`` names the checkpoints that other stages of the recipe start from.
    """

    key: str
    inputs: Mapping[str, Input]
    data: TaskData
    ood: Sequence[TaskData]
    keep: Sequence[str]


def cached_result(lab: Lab, stage: ResolvedStage) -> dict[str, Any] | None:
    """Return the result of a stage that is in the lab; None if the stage must be computed.

    A finished stage is computed again if it lacks a checkpoint that another stage of the recipe starts from.

    :raises Damaged: the stored result is not what the stage wrote.
    """
    return lab.result(stage.key) if _has_checkpoints(lab.stage(stage.key), stage.keep) else None


def resolve_stage(
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
) -> ResolvedStage:
    """Return the recipe's stage ``name`` with its key and inputs, for one task and seed.

    ``recipe`` is that of the task (:meth:`ticketlab.recipes.recipe.Recipe.of`); ``earlier`` has the key and the folder of each stage
    before this one.

    :raises UsageError: a file or model that a reference names does not exist.
    """
    stage = recipe.stages[name]
    if not stage.uses_task:
        data = NO_TASK
    ood = ood if stage.uses_ood else ()
    inputs: dict[str, Input] = {}
    keys: dict[str, str] = {}
    for field, value in stage.references().items():
        referenced, at = split_checkpoint(value)
        if referenced in earlier:
            key, folder = earlier[referenced]
            inputs[field] = Input(str(folder), is_stage=True, at=at, inside=True)
            keys[field] = f"{key}@{at}" if at else key
        else:
            inputs[field], keys[field] = external_inputs.resolve_reference(field, value, task, seed)
    sets = (*(f"{challenge_set.name} {challenge_set.fingerprint}" for challenge_set in ood), *recipe.ood_map) if ood else ()
    key = stage_key(
        stage,
        inputs=keys,
        external_inputs=fingerprint.of_external_inputs(stage.external_inputs()),
        data="+".join((data.fingerprint, *sets)),
        model=fingerprint.of_model(model) if model else "",
        max_length=stage.longest(recipe.max_length),
        precision=precision,
        seed=seed,
        threads=torch.get_num_threads() if pick_device().type == "cpu" else 0,
    )
    return ResolvedStage(key, inputs, data, ood, _referenced_checkpoints(recipe, name))


def _referenced_checkpoints(recipe: Recipe, name: str) -> list[str]:
    """Return the checkpoints of a training stage that other stages start from."""
    values = [split_checkpoint(value) for stage in recipe.stages.values() for value in stage.references().values()]
    return sorted({at for referenced, at in values if referenced == name and at})


def _has_checkpoints(folder: Path, checkpoints: Sequence[str]) -> bool:
    """Return whether a stage's folder has these checkpoints."""
    return all((folder / model_folder(at)).is_dir() for at in checkpoints)
