"""What making a model took, and what it is like: from the stages up to the one that left it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.report.statistics import Measure, summarise
from ticketlab.results import learnt_from

Stage = Mapping[str, Any]
Stages = Mapping[str, Stage]
MAKING = ("bias", "train", "search", "draw")
OPTIMISING = ("train", "search")


@frozen
class Making:
    """``seconds`` are those of all the stages; ``search_seconds`` and ``training_seconds`` of their optimizer steps alone.

    ``parameters`` counts what the last training could change: the mask scores, of a model that a search left. ``sparsity`` has the removed
    fraction of each group of units.
    """

    sparsity: Mapping[str, Measure]
    parameters: Measure | None
    search_seconds: Measure | None
    training_seconds: Measure | None
    seconds: Measure | None


def making(seeds: Sequence[Stages], model: str) -> Making:
    """Return what the stages of each seed say about making ``model``, the name of a stage; nothing of a model from outside."""
    stages = [list(_up_to(model, stages)) for stages in seeds]
    made = [_result(found[-1]) for found in stages if found]
    return Making(
        sparsity=_sparsity(made),
        parameters=summarise([result.get("trainable_parameters") for result in made]),
        search_seconds=_spent([[stage for stage in found if _prepares(stage)] for found in stages]),
        training_seconds=_spent([[stage for stage in found if not _prepares(stage)] for found in stages]),
        seconds=_cost(stages, "seconds"),
    )


def _up_to(model: str, stages: Stages) -> Iterator[Stage]:
    if model in stages:
        attacks = learnt_from(stages)
        for name, stage in stages.items():
            if stage["kind"] in MAKING or name in attacks:
                yield stage
            if name == model:
                return


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
