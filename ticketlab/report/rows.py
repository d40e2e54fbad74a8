"""From the results of runs to one row per task and evaluated model, each number summarised over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.report.statistics import Measure, summarise

Stages = Mapping[str, Mapping[str, Any]]
MAKING = ("train", "search", "draw")


@frozen
class AttackCells:
    """What one attack did. ``clean`` is the accuracy on the attacked sample; ``errors`` counts examples of all seeds."""

    name: str
    clean: Measure | None
    aua: Measure | None
    suc: Measure | None
    queries: Measure | None
    errors: int = 0


@frozen
class Row:
    """One model on one task. ``seconds`` is what making the model took: evaluation and attacks are not in it.

    ``search_seconds`` and ``training_seconds`` are those of the optimizer steps alone, as the papers time them; what is learnt from other
    text than the task's belongs to the search. ``parameters`` counts what the last training can change; ``sparsity`` has the removed
    fraction of each group of units; ``latency`` is the measured seconds per evaluated example.
    """

    label: str
    task: str
    model: str
    scale: str
    seeds: int
    clean: Measure | None
    attacks: tuple[AttackCells, ...]
    sparsity: Mapping[str, Measure]
    parameters: Measure | None
    search_seconds: Measure | None
    training_seconds: Measure | None
    seconds: Measure | None
    latency: Measure | None


def rows(results: Mapping[str, Any]) -> list[Row]:
    """Return the rows of what a ``results.json`` holds.

    A row is called like the recipe, and also like the stage where the recipe evaluates several models. Sparsity and seconds are those of
    the stages up to the one that made the model.
    """
    found = []
    for task, by_seed in results["tasks"].items():
        seeds: list[Stages] = list(by_seed.values())
        models = list(dict.fromkeys(stage["of"] for stages in seeds for stage in stages.values() if "of" in stage))
        for model in models:
            label = results["recipe"] if len(models) == 1 else f"{results['recipe']} {model}"
            found.append(_row(label, task, model, seeds, results))
    return found


def errors(results: Mapping[str, Any]) -> int:
    """Return how many attacked examples ended in an error, over all tasks, seeds and attacks."""
    return sum(cells.errors for row in rows(results) for cells in row.attacks)


def _row(label: str, task: str, model: str, seeds: Sequence[Stages], results: Mapping[str, Any]) -> Row:
    attacked = [_attacks(stages, model) for stages in seeds]
    names = dict.fromkeys(name for attacks in attacked for name in attacks)
    attacks = tuple(_cells(name, [attacks[name] for attacks in attacked if name in attacks]) for name in names)
    evaluated = [found for stages in seeds if (found := _clean(stages, model)) is not None]
    clean = summarise([found["accuracy"] for found in evaluated], [found["n"] for found in evaluated])
    making = [list(_making(stages, model)) for stages in seeds]
    return Row(
        label=label,
        task=task,
        model=results["model"],
        scale=results["scale"],
        seeds=len(seeds),
        clean=clean or (attacks[0].clean if attacks else None),
        attacks=attacks,
        sparsity=_sparsity(making),
        parameters=summarise([_last_trained(stages) for stages in making]),
        search_seconds=_spent(making, "training_seconds", _prepares),
        training_seconds=_spent(making, "training_seconds", lambda stage: not _prepares(stage)),
        seconds=_spent(making, "seconds", lambda stage: True),
        latency=summarise([_latency(stages, model) for stages in seeds]),
    )


def _sparsity(making: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Measure]:
    """Return the sparsity of what was trained last under a ticket, by group of units."""
    trained = [[stage["train"] for stage in stages if "train" in stage] for stages in making]
    last = [results[-1].get("sparsity", {}) for results in trained if results]
    found = {name: summarise([groups.get(name) for groups in last]) for name in dict.fromkeys(name for groups in last for name in groups)}
    return {name: measure for name, measure in found.items() if measure is not None}


def _last_trained(stages: Sequence[Mapping[str, Any]]) -> int | None:
    counts = [stage["train"]["trainable_parameters"] for stage in stages if "trainable_parameters" in stage.get("train", {})]
    return counts[-1] if counts else None


def _spent(making: Sequence[Sequence[Mapping[str, Any]]], which: str, counts: Callable[[Mapping[str, Any]], bool]) -> Measure | None:
    """Return the seconds of the stages that count; None where no seed has any."""
    costs = [[stage["cost"][which] for stage in stages if which in stage.get("cost", {}) and counts(stage)] for stages in making]
    return summarise([sum(seconds) for seconds in costs if seconds])


def _prepares(stage: Mapping[str, Any]) -> bool:
    """Say whether a stage searches, or trains something else than the task for a search to start from."""
    return bool(stage["kind"] == "search" or stage.get("train", {}).get("objective", "task") != "task")


def _attacks(stages: Stages, model: str) -> dict[str, Mapping[str, Any]]:
    return {name: found for stage in stages.values() if stage.get("of") == model for name, found in stage.get("attacks", {}).items()}


def _clean(stages: Stages, model: str) -> Mapping[str, Any] | None:
    return next((stage["clean"] for stage in stages.values() if stage.get("of") == model and "clean" in stage), None)


def _latency(stages: Stages, model: str) -> float | None:
    timed = (stage for stage in stages.values() if stage.get("of") == model and "prediction_seconds" in stage.get("cost", {}))
    return next((stage["cost"]["prediction_seconds"] / stage["clean"]["n"] for stage in timed), None)


def _making(stages: Stages, model: str) -> Iterator[Mapping[str, Any]]:
    """Yield the stages up to the one that made the model; none for a model from outside."""
    if model in stages:
        for name, stage in stages.items():
            if stage["kind"] in MAKING:
                yield stage
            if name == model:
                return


def _cells(name: str, found: Sequence[Mapping[str, Any]]) -> AttackCells:
    def share(key: str) -> Measure | None:
        sizes = [one.get(f"{key}_of", {}).get("total", one["n"]) for one in found if one[key] is not None]
        return summarise([one[key] for one in found], sizes)

    return AttackCells(
        name=name,
        clean=share("clean"),
        aua=share("aua"),
        suc=share("suc"),
        queries=summarise([one["queries"] for one in found]),
        errors=sum(one.get("errors", 0) for one in found),
    )
