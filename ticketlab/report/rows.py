"""From the results of runs to one row per task and evaluated model, each number summarised over the seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.report import challenges
from ticketlab.report.challenges import ChallengeCells
from ticketlab.report.making import Stages, making
from ticketlab.report.statistics import Measure, summarise, summarise_means
from ticketlab.results import learnt_from


@frozen
class AttackCells:
    """What one attack did. ``clean`` is the accuracy on the attacked sample; ``errors`` and ``timeouts`` count examples of all seeds.

    ``words`` is the fraction of words changed and ``similarity`` the cosine to the original, both where the attack succeeded.
    """

    name: str
    clean: Measure | None
    aua: Measure | None
    suc: Measure | None
    queries: Measure | None
    words: Measure | None = None
    similarity: Measure | None = None
    errors: int = 0
    timeouts: int = 0


@frozen
class Row:
    """One model on one task. ``seconds`` is what making the model took: evaluation and attacks are not in it.

    ``search_seconds`` and ``training_seconds`` are those of the optimizer steps alone, as the papers time them; what is learnt from other
    text than the task's belongs to the search, and a search that leaves a model is a search. ``parameters`` counts what the last training
    can change; ``sparsity`` has the removed fraction of each group of units; ``latency`` is the measured seconds per evaluated example.
    ``own_split`` has what the predictions behind ``clean`` say beside their accuracy.
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
    own_split: ChallengeCells | None
    challenges: tuple[ChallengeCells, ...]


def rows(results: Mapping[str, Any]) -> list[Row]:
    """Return the rows of what a ``results.json`` holds.

    A row is called like the recipe, and also like the stage where the recipe evaluates several models. Sparsity and seconds are those of
    the stages up to the one that made the model.
    """
    found = []
    for task, by_seed in results["tasks"].items():
        seeds: list[Stages] = list(by_seed.values())
        models = list(dict.fromkeys(stage["of"] for stages in seeds for stage in _measuring(stages).values()))
        for model in models:
            label = results["recipe"] if len(models) == 1 else f"{results['recipe']} {model}"
            found.append(_row(label, task, model, seeds, results))
    return found


def by_task(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each task, in the order of their first ones."""
    return [[row for row in rows if row.task == task] for task in dict.fromkeys(row.task for row in rows)]


def errors(results: Mapping[str, Any]) -> int:
    """Return how many attacked examples ended in an error, over all tasks, seeds and attacks."""
    return _counted(results, "errors")


def timeouts(results: Mapping[str, Any]) -> int:
    """Return how many attacked examples were given up after their time limit, over all tasks, seeds and attacks."""
    return _counted(results, "timeouts")


def mostly_late(results: Mapping[str, Any]) -> list[str]:
    """Return the attacks of which more examples were given up after the time limit than have a result."""
    return list(dict.fromkeys(name for name, found in _attacks_in(results) if found.get("timeouts", 0) > found["n"]))


def _counted(results: Mapping[str, Any], status: str) -> int:
    """Return the number of attacked examples that ended so, those included whose texts a training learns from."""
    return sum(found.get(status, 0) for _, found in _attacks_in(results))


def _attacks_in(results: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    stages = [stage for seeds in results["tasks"].values() for stages in seeds.values() for stage in stages.values()]
    return [(name, found) for stage in stages for name, found in stage.get("attacks", {}).items()]


def _row(label: str, task: str, model: str, seeds: Sequence[Stages], results: Mapping[str, Any]) -> Row:
    attacked = [_attacks(stages, model) for stages in seeds]
    names = dict.fromkeys(name for attacks in attacked for name in attacks)
    attacks = tuple(_cells(name, [attacks[name] for attacks in attacked if name in attacks]) for name in names)
    evaluated = [found for stages in seeds if (found := _clean(stages, model)) is not None]
    own_split = challenges.cells(task, evaluated) if evaluated else None
    made = making(seeds, model)
    return Row(
        label=label,
        task=task,
        model=results["model"],
        scale=results["scale"],
        seeds=len(seeds),
        clean=(own_split and own_split.accuracy) or (attacks[0].clean if attacks else None),
        attacks=attacks,
        sparsity=made.sparsity,
        parameters=made.parameters,
        search_seconds=made.search_seconds,
        training_seconds=made.training_seconds,
        seconds=made.seconds,
        latency=summarise([_latency(stages, model) for stages in seeds]),
        own_split=own_split,
        challenges=_challenges(seeds, model),
    )


def _measuring(stages: Stages) -> Stages:
    """Return the stages that measured a model: not those whose texts a training learns from."""
    learnt = learnt_from(stages)
    return {name: stage for name, stage in stages.items() if "of" in stage and name not in learnt}


def _attacks(stages: Stages, model: str) -> dict[str, Mapping[str, Any]]:
    measuring = [stage for stage in _measuring(stages).values() if stage["of"] == model]
    return {name: found for stage in measuring for name, found in stage.get("attacks", {}).items()}


def _clean(stages: Stages, model: str) -> Mapping[str, Any] | None:
    return next((stage["clean"] for stage in stages.values() if stage.get("of") == model and "clean" in stage), None)


def _latency(stages: Stages, model: str) -> float | None:
    timed = (stage for stage in stages.values() if stage.get("of") == model and "prediction_seconds" in stage.get("cost", {}))
    return next((stage["cost"]["prediction_seconds"] / stage["clean"]["n"] for stage in timed if stage["clean"]["n"]), None)


def _challenges(seeds: Sequence[Stages], model: str) -> tuple[ChallengeCells, ...]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for stages in seeds:
        by_set = {name: one for stage in stages.values() if stage.get("of") == model for name, one in stage.get("ood", {}).items()}
        for name, one in by_set.items():
            found.setdefault(name, []).append(one)
    return tuple(challenges.cells(name, by_seed) for name, by_seed in found.items())


def _cells(name: str, found: Sequence[Mapping[str, Any]]) -> AttackCells:
    def share(key: str) -> Measure | None:
        sizes = [one.get(f"{key}_of", {}).get("total", one["n"]) for one in found if one[key] is not None]
        return summarise([one[key] for one in found], sizes)

    return AttackCells(
        name=name,
        clean=share("clean"),
        aua=share("aua"),
        suc=share("suc"),
        queries=summarise_means(found, "queries"),
        words=summarise_means(found, "words_changed"),
        similarity=summarise_means(found, "similarity"),
        errors=sum(one.get("errors", 0) for one in found),
        timeouts=sum(one.get("timeouts", 0) for one in found),
    )
