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
from ticketlab.core.references import split_checkpoint
from ticketlab.lab.lab import Lab
from ticketlab.lab.layout import model_folder, scores_file
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.task_groups import own_task
from ticketlab.runs import external_inputs
from ticketlab.runs.stage_key import StageKeys
from ticketlab.stages.base import Input
from ticketlab.stages.search_snapshots import ended_before
from ticketlab.tasks.base import Task, TaskData

NO_TASK = TaskData("", (), (), {"train": (), "dev": (), "test": ()}, "")
"""The data of a stage that does not use the task."""


@frozen
class ResolvedStage:
    """A stage of a run with its key and inputs. ``data`` is :data:`NO_TASK` and ``ood`` is empty if the stage does not use them.

    ``keep`` names the checkpoints that other stages of the recipe use.
    """

    key: str
    inputs: Mapping[str, Input]
    data: TaskData
    ood: Sequence[TaskData]
    keep: Sequence[str]


def cached_result(lab: Lab, stage: ResolvedStage) -> dict[str, Any] | None:
    """Return the result of a stage that is in the lab; None if the stage must be computed.

    A finished stage is computed again if it lacks a checkpoint that another stage of the recipe uses.

    :raises Damaged: the stored result is not what the stage wrote.
    """
    result = lab.result(stage.key)
    return result if result is not None and has_checkpoints(lab, stage.key, stage.keep, result) else None


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
    own: Mapping[Task, TaskData] | None = None,
    keys: StageKeys | None = None,
    threads: int | None = None,
) -> ResolvedStage:
    """Return the recipe's stage ``name`` with its key and inputs, for one task and seed.

    ``recipe`` is that of the task (:meth:`ticketlab.recipes.recipe.Recipe.of`); ``earlier`` has the key and the folder of each stage
    before this one; ``model`` is the fingerprint of the recipe's model, empty if no stage needs it. ``own`` has the data of the tasks that
    stages name themselves, which replace ``task`` and ``data``. Pass the same ``keys`` for many stages. ``threads`` replaces the number of
    threads in the key.

    :raises UsageError: a file or model that a reference names does not exist.
    """
    stage = recipe.stages[name]
    if (named := own_task(recipe, name)) is not None:
        task, data = named.label, (own or {})[named]
    if not stage.uses_task:
        data = NO_TASK
    ood = ood if stage.uses_ood else ()
    keys = keys or StageKeys()
    facts = keys.facts(stage)
    inputs: dict[str, Input] = {}
    input_keys: dict[str, str] = {}
    for field, value in facts.references.items():
        referenced, at = split_checkpoint(value)
        if referenced in earlier:
            key, folder = earlier[referenced]
            inputs[field] = Input(str(folder), is_stage=True, at=at, inside=True, model_folder=recipe.stages[referenced].model_folder)
            input_keys[field] = f"{key}@{at}" if at else key
        else:
            inputs[field], input_keys[field] = external_inputs.resolve_reference(
                field, value, external_inputs.accepted_kinds(stage, field), task, seed
            )
    sets = (*(f"{challenge_set.name} {challenge_set.fingerprint}" for challenge_set in ood), *recipe.ood_map) if ood else ()
    key = keys.key(
        stage,
        inputs=input_keys,
        data="+".join((data.fingerprint, *sets)),
        model=model,
        max_length=stage.longest(recipe.max_length),
        precision=precision,
        seed=seed,
        threads=threads_in_key() if threads is None else threads,
    )
    return ResolvedStage(key, inputs, data, ood, keys.checkpoints(recipe.stages, name))


def threads_in_key() -> int:
    """Return the number of threads that a stage's key has: the last bits of results on a CPU depend on it."""
    return torch.get_num_threads() if pick_device().type == "cpu" else 0


def has_checkpoints(lab: Lab, key: str, checkpoints: Sequence[str], result: Mapping[str, Any]) -> bool:
    """Return whether a finished stage has these checkpoints, apart from those that its stop rule kept it from reaching."""
    if "search" not in result:
        return all(lab.holds(key, model_folder(at)) for at in checkpoints)
    return all(lab.holds(key, scores_file(at)) or ended_before(at, result["search"]) for at in checkpoints)
