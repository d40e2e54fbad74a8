"""What making a model took, and what it is like: from the stages that led to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.lab.results import augmentation_sources, checkpoint_name
from ticketlab.recipes.recipe import split_checkpoint
from ticketlab.report.statistics import Measure, distinct, summarise

Stage = Mapping[str, Any]
Stages = Mapping[str, Stage]
MAKING = ("bias", "train", "search", "draw")
OPTIMISING = ("train", "search")


@frozen
class ModelCost:
    """``seconds`` are those of all the stages; ``search_seconds`` and ``training_seconds`` of their optimizer steps alone.

    A number of seconds is None where it would hold a training of which only a checkpoint was used: ``partly`` names these.
    ``parameters`` counts what the last training could change: the mask scores, of a model that a search left. ``sparsity`` has the removed
    fraction of each group of units.
    """

    sparsity: Mapping[str, Measure]
    parameters: Measure | None
    search_seconds: Measure | None
    training_seconds: Measure | None
    seconds: Measure | None
    partly: tuple[str, ...] = ()


def model_cost(seeds: Sequence[Stages], model: str, at: str = "") -> ModelCost:
    """Return what the stages of each seed say about making ``model``, the name of a stage, or its checkpoint ``at``.

    Of a model from outside they say nothing.
    """
    seeds = [stages for stages in seeds if model in stages]
    chosen = distinct([stages[model] for stages in seeds])
    seeds = [stages for stages in seeds if any(stages[model] is one for one in chosen)]
    led = [_led_to(model, stages) for stages in seeds]
    partly = _partly(model, at, led[0]) if led else {}
    groups = {_prepares(led[0][name]) for name in partly if led[0][name]["kind"] in OPTIMISING}
    stages = [list(found.values()) for found in led]
    made = [_result(one) for one in chosen]
    return ModelCost(
        sparsity=_sparsity(made),
        parameters=summarise([result.get("trainable_parameters") for result in made]),
        search_seconds=None if True in groups else _spent([[stage for stage in found if _prepares(stage)] for found in stages]),
        training_seconds=None if False in groups else _spent([[stage for stage in found if not _prepares(stage)] for found in stages]),
        seconds=None if partly else _cost(stages, "seconds"),
        partly=tuple(partly.values()),
    )


def _led_to(model: str, stages: Stages) -> dict[str, Stage]:
    """Return the stages that a model was made from, its own included, in their order.

    Where results do not say what stages start from, they are all that came before and make models.
    """
    before = list(stages)[: list(stages).index(model) + 1]
    if not any("inputs" in stages[name] for name in before):
        learnt = augmentation_sources(stages)
        return {name: stages[name] for name in before if stages[name]["kind"] in MAKING or name in learnt}
    wanted = {model}
    for name in reversed(before):
        if name in wanted:
            wanted |= {split_checkpoint(value)[0] for value in stages[name].get("inputs", {}).values()}
    return {name: stages[name] for name in before if name in wanted}


def _partly(model: str, at: str, led: Stages) -> dict[str, str]:
    """Return the stages of which only a checkpoint was used, by name, as they are called with it; not those that were used whole too."""
    used: dict[str, set[str]] = {model: {at}}
    for stage in led.values():
        for name, where in map(split_checkpoint, stage.get("inputs", {}).values()):
            used.setdefault(name, set()).add(where)
    return {
        name: " and ".join(checkpoint_name(name, place) for place in sorted(places))
        for name, places in used.items()
        if name in led and "" not in places
    }


def _result(stage: Stage) -> Mapping[str, Any]:
    result: Mapping[str, Any] = stage.get(stage["kind"], {})
    return result


def _sparsity(made: Sequence[Mapping[str, Any]]) -> dict[str, Measure]:
    """Return the sparsity of the models, by group of units; none of one that no ticket holds."""
    groups = [result.get("sparsity", {}) for result in made]
    found = {name: summarise([one.get(name) for one in groups]) for name in dict.fromkeys(name for one in groups for name in one)}
    return {name: measure for name, measure in found.items() if measure is not None}


def _spent(stages: Sequence[Sequence[Stage]]) -> Measure | None:
    """Return the seconds of optimizer steps. A bias model has none, whatever it measures."""
    return _cost([[stage for stage in found if stage["kind"] in OPTIMISING] for found in stages], "training_seconds")


def _cost(stages: Sequence[Sequence[Stage]], which: str) -> Measure | None:
    """Return the seconds of the stages of each seed together; None where no seed has any."""
    costs = [[stage["cost"][which] for stage in found if which in stage.get("cost", {})] for found in stages]
    return summarise([sum(seconds) for seconds in costs if seconds])


def _prepares(stage: Stage) -> bool:
    """Say whether a stage searches, or trains something else than the task for a search to start from."""
    return bool(stage["kind"] == "search" or _result(stage).get("objective", "task") != "task")
