"""The cost of a model, its number of trained parameters and its sparsity, from the stages that led to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.references import split_checkpoint, stage_of
from ticketlab.lab.results import TRAININGS, augmentation_sources, checkpoint_name, works_as
from ticketlab.report.statistics import Measure, distinct_stages, summarise

Stage = Mapping[str, Any]
Stages = Mapping[str, Stage]
MODEL_KINDS = ("bias", "train", "search", "draw")
"""The kinds of stages that contribute to a model."""


@frozen
class ModelCost:
    """``seconds`` is the time of all the stages; ``search_seconds`` and ``training_seconds`` count their optimizer steps only.

    A time is None if it would include a stage of which only a checkpoint was used, since only whole stages are timed; ``partly`` names such
    checkpoints. ``parameters`` is the number of parameters that the last training stage could change; for a model from a search, these are
    the mask scores. ``sparsity`` has the removed fraction of each group of units.
    """

    sparsity: Mapping[str, Measure]
    parameters: Measure | None
    search_seconds: Measure | None
    training_seconds: Measure | None
    seconds: Measure | None
    partly: tuple[str, ...] = ()


def model_cost(seeds: Sequence[Stages], model: str, at: str = "") -> ModelCost:
    """Return the cost of ``model``, the name of a stage, or of its checkpoint ``at``, over the stages of each seed.

    All are unknown for a model from outside the recipe.
    """
    seeds = [stages for stages in seeds if model in stages]
    model_stages = distinct_stages([stages[model] for stages in seeds])
    seeds = [stages for stages in seeds if any(stages[model] is stage for stage in model_stages)]
    by_seed = [stages_leading_to(model, stages) for stages in seeds]
    partly = _partly_used(model, at, by_seed[0]) if by_seed else {}
    partly_in_search = {_belongs_to_search(by_seed[0][name]) for name in partly if works_as(by_seed[0][name], *TRAININGS)}
    stages = [list(leading.values()) for leading in by_seed]
    results = [_result(stage) for stage in model_stages]
    search = [[stage for stage in leading if _belongs_to_search(stage)] for leading in stages]
    training = [[stage for stage in leading if not _belongs_to_search(stage)] for leading in stages]
    return ModelCost(
        sparsity=_sparsity(results),
        parameters=summarise([result.get("trainable_parameters") for result in results]),
        search_seconds=None if True in partly_in_search else _optimizer_seconds(search),
        training_seconds=None if False in partly_in_search else _optimizer_seconds(training),
        seconds=None if partly else _total_seconds(stages, "seconds"),
        partly=tuple(partly.values()),
    )


def stages_leading_to(model: str, stages: Stages) -> dict[str, Stage]:
    """Return the stages that a model depends on, including its own, in the order of the recipe.

    If the results do not record the inputs of stages, return all earlier stages of :data:`MODEL_KINDS`.
    """
    before = list(stages)[: list(stages).index(model) + 1]
    if not any("inputs" in stages[name] for name in before):
        augmenting = augmentation_sources(stages)
        return {name: stages[name] for name in before if stages[name]["kind"] in MODEL_KINDS or name in augmenting}
    needed = {model}
    for name in reversed(before):
        if name in needed:
            needed |= {stage_of(value) for value in stages[name].get("inputs", {}).values()}
    return {name: stages[name] for name in before if name in needed}


def _partly_used(model: str, at: str, leading: Stages) -> dict[str, str]:
    """Return the stages of which only checkpoints were used, by name, with the names of these checkpoints."""
    used: dict[str, set[str]] = {model: {at}}
    for stage in leading.values():
        for name, checkpoint in map(split_checkpoint, stage.get("inputs", {}).values()):
            used.setdefault(name, set()).add(checkpoint)
    return {
        name: " and ".join(checkpoint_name(name, checkpoint) for checkpoint in sorted(checkpoints))
        for name, checkpoints in used.items()
        if name in leading and "" not in checkpoints
    }


def _result(stage: Stage) -> Mapping[str, Any]:
    if stage["kind"] == "draw":
        return {"sparsity": {name: group["achieved"] for name, group in stage.get("ticket", {}).get("groups", {}).items()}}
    result: Mapping[str, Any] = stage.get(stage["kind"], {})
    return result


def _sparsity(results: Sequence[Mapping[str, Any]]) -> dict[str, Measure]:
    """Return the sparsity of the models or tickets by group of units; empty for models without a ticket."""
    groups = [result.get("sparsity", {}) for result in results]
    measures = {
        name: summarise([group.get(name) for group in groups]) for name in dict.fromkeys(name for group in groups for name in group)
    }
    return {name: measure for name, measure in measures.items() if measure is not None}


def _optimizer_seconds(seeds: Sequence[Sequence[Stage]]) -> Measure | None:
    """Return the seconds of optimizer steps. A bias model has none, even if its stage reports training seconds."""
    return _total_seconds([[stage for stage in stages if works_as(stage, *TRAININGS)] for stages in seeds], "training_seconds")


def _total_seconds(seeds: Sequence[Sequence[Stage]], key: str) -> Measure | None:
    """Return the total seconds of the stages of each seed; None if no seed has any."""
    seconds = [[stage["cost"][key] for stage in stages if key in stage.get("cost", {})] for stages in seeds]
    return summarise([sum(of_seed) for of_seed in seconds if of_seed])


def _belongs_to_search(stage: Stage) -> bool:
    """Return whether a stage is a search, or trains on an objective that does not use the task, which prepares a search."""
    result = _result(stage)
    uses_task = result.get("uses_task", result.get("objective", "task") == "task")  # earlier versions stored only the name
    return bool(stage["kind"] == "search" or not uses_task)
