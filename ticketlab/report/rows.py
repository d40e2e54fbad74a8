"""From the results of runs to one row per task, measured model and evaluation, each number summarised over the seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from ticketlab.lab.results import augmentation_sources, checkpoint_name, stage_results
from ticketlab.report import attack_cells, challenges
from ticketlab.report.attack_cells import AttackCells
from ticketlab.report.challenges import ChallengeCells
from ticketlab.report.cost import Stages, model_cost
from ticketlab.report.statistics import Measure, distinct, summarise

Model = tuple[str, str]
"""The stage that left a model, or where one from outside is, and the checkpoint; the latter is empty for the finished model."""


@frozen
class ResultRow:
    """One model on one task. ``seconds`` is what making the model took: evaluation and attacks are not in it.

    ``of`` and ``checkpoint`` say which model it is, ``stage`` and ``split`` what evaluated it, on which examples: they are empty where
    nothing but attacks measured it. ``run`` is the run's directory, and ``model`` what the recipe starts from. ``keys`` has the stage's key
    for each of ``seeds`` measurements that differ, and ``made`` that of the stage that left the model.

    ``search_seconds`` and ``training_seconds`` are those of the optimizer steps alone, as the papers time them; what is learnt from other
    text than the task's belongs to the search, and a search that leaves a model is a search. They are None where only a checkpoint of a
    training was used, as whole trainings are timed. ``parameters`` counts what the last training can change; ``sparsity`` has the removed
    fraction of each group of units; ``latency`` is the measured seconds per evaluated example. ``own_split`` has what the predictions
    behind ``clean`` say beside their accuracy.
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
    run: str = ""
    of: str = ""
    checkpoint: str = ""
    stage: str = ""
    split: str = ""
    keys: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    """The trainings of which only a checkpoint was used."""
    repeated: int = 0
    """The seeds whose measurement is that of an earlier one, as nothing in it depends on the seed."""


def rows(results: Mapping[str, Any], name: str | None = None) -> list[ResultRow]:
    """Return the rows of what a ``results.json`` holds.

    A row is called like the recipe and what overrides it, or ``name`` in place of the recipe, and also like the model where there are
    several or it is a checkpoint, like the stage where several evaluate one model, and like the split where there are several. Attacks of
    a model that several stages evaluate are a row of their own.
    """
    label = results.get("label", results["recipe"])
    label = label if name is None else name + label.removeprefix(results["recipe"])
    found: list[ResultRow] = []
    for task, by_seed in results["tasks"].items():
        seeds: list[Stages] = list(by_seed.values())
        measuring = [(name, stage) for stages in seeds for name, stage in _measuring(stages).items()]
        models = list(dict.fromkeys(_model(stage) for _, stage in measuring))
        for model in models:
            alone = len(models) == 1 and not model[1]
            found += _rows(label if alone else f"{label} {checkpoint_name(*model)}", task, model, seeds, results)
    splits = {row.split for row in found if row.split}
    return [evolve(row, label=f"{row.label} on {row.split}") if row.split and len(splits) > 1 else row for row in found]


def by_task(rows: Sequence[ResultRow]) -> list[list[ResultRow]]:
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
    return [(name, found) for stage in stage_results(results) for name, found in stage.result.get("attacks", {}).items()]


def _measuring(stages: Stages) -> Stages:
    """Return the stages that measured a model: not those whose texts a training learns from."""
    learnt = augmentation_sources(stages)
    return {name: stage for name, stage in stages.items() if "of" in stage and name not in learnt}


def _model(stage: Mapping[str, Any]) -> Model:
    return str(stage["of"]), str(stage.get("at", ""))


def _rows(label: str, task: str, model: Model, seeds: Sequence[Stages], results: Mapping[str, Any]) -> Iterator[ResultRow]:
    """Yield the rows of one model: one, or one for each stage that evaluated it and one for the attacks."""
    measured = [{name: stage for name, stage in _measuring(stages).items() if _model(stage) == model} for stages in seeds]
    names = list(dict.fromkeys(name for stages in measured for name, stage in stages.items() if "clean" in stage))
    plain = _unmeasured(label, task, model, seeds, results)
    attacks = attack_cells.of_model(measured, _told_apart(seeds))
    if len(names) <= 1:
        row = evolve(plain, attacks=attacks, seeds=max((len(cells.keys) for cells in attacks), default=0) or len(seeds))
        yield _evaluated(row, names[0], measured, results) if names else row
        return
    for name in names:
        yield _evaluated(evolve(plain, label=f"{label} {name}"), name, measured, results)
    if attacks:
        yield evolve(plain, attacks=attacks)


def _unmeasured(label: str, task: str, model: Model, seeds: Sequence[Stages], results: Mapping[str, Any]) -> ResultRow:
    """Return a row that says how a model was made."""
    made = model_cost(seeds, *model)
    return ResultRow(
        label=label,
        task=task,
        model=results["model"],
        scale=results["scale"],
        seeds=len(seeds),
        clean=None,
        attacks=(),
        sparsity=made.sparsity,
        parameters=made.parameters,
        search_seconds=made.search_seconds,
        training_seconds=made.training_seconds,
        seconds=made.seconds,
        latency=None,
        own_split=None,
        challenges=(),
        run=results.get("run", ""),
        of=model[0],
        checkpoint=model[1],
        made=tuple(checkpoint_name(str(stages[model[0]]["key"]), model[1]) for stages in seeds if "key" in stages.get(model[0], {})),
        partly=made.partly,
    )


def _evaluated(row: ResultRow, name: str, measured: Sequence[Stages], results: Mapping[str, Any]) -> ResultRow:
    """Return the row with what the stage ``name`` found; a measurement that several seeds share counts once."""
    stages = distinct([found[name] for found in measured if name in found])
    own = challenges.cells(row.task, [stage["clean"] for stage in stages], _shown(results, row.task))
    sets = dict.fromkeys(one for stage in stages for one in stage.get("ood", {}))
    return evolve(
        row,
        seeds=len(stages),
        repeated=sum(name in found for found in measured) - len(stages),
        stage=name,
        split=own.split,
        keys=tuple(str(stage["key"]) for stage in stages if "key" in stage),
        clean=own.accuracy,
        own_split=own,
        challenges=tuple(
            challenges.cells(one, [stage["ood"][one] for stage in stages if one in stage.get("ood", {})], _shown(results, one))
            for one in sets
        ),
        latency=summarise([_latency(stage) for stage in stages]),
    )


def _shown(results: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the measures that are shown of a data set beside its accuracy."""
    return tuple(results.get("data", {}).get(name, {}).get("measures", ()))


def _latency(stage: Mapping[str, Any]) -> float | None:
    """Return the seconds per predicted example, those of the challenge sets included."""
    seconds = stage.get("cost", {}).get("prediction_seconds")
    predicted = sum(one["n"] for one in (stage["clean"], *stage.get("ood", {}).values()))
    return seconds / predicted if seconds is not None and predicted else None


def _told_apart(seeds: Sequence[Stages]) -> set[str]:
    """Return the attacks that stages run with different settings, so that their name alone does not say which numbers are theirs."""
    settings: dict[str, list[Any]] = {}
    for stage in (stage for stages in seeds for stage in _measuring(stages).values()):
        for name in stage.get("attacks", {}):
            found = attack_cells.settings_of(stage, name)
            if found not in settings.setdefault(name, []):
                settings[name].append(found)
    on_one_model = [
        Counter((_model(stage), name) for stage in _measuring(stages).values() for name in stage.get("attacks", {})) for stages in seeds
    ]
    repeated = {name for counted in on_one_model for (_, name), count in counted.items() if count > 1}
    return repeated | {name for name, found in settings.items() if len(found) > 1}
