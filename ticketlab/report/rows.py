"""One row per task, measured model and evaluation, from the results of a run; each number is summarised over the seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from ticketlab.lab.results import checkpoint_name, measures, measuring_stages, stage_results
from ticketlab.report.attack_summary import AttackSummary, attack_settings, summarise_attacks
from ticketlab.report.cost import Stages, model_cost
from ticketlab.report.set_summary import SetSummary, summarise_set
from ticketlab.report.statistics import Measure, distinct_stages, summarise

Model = tuple[str, str]
"""The stage that produced a model, or the path or name of an external one; and the checkpoint, empty for the finished model."""


@frozen
class ResultRow:
    """One model on one task. ``seconds`` is the cost of the model; evaluation and attacks are not included.

    ``of`` and ``checkpoint`` identify the model; ``stage`` and ``split`` are the stage and the examples of its evaluation, and empty if the
    model was only attacked. ``run`` is the name of the run's directory, and ``model`` the model that the recipe starts from. ``keys`` has
    the stage's key for each of the ``seeds`` distinct measurements, and ``model_keys`` those of the stage that produced the model.

    ``search_seconds`` and ``training_seconds`` count optimizer steps only, as papers report them. Training on text other than the task's
    belongs to the search, and so does a search that yields a model. They are None if only a checkpoint of a stage was used, because
    only whole stages are timed. ``parameters`` is the number that the last training stage can change; ``sparsity`` has the removed fraction
    of each group of units; ``latency`` is the measured time per evaluated example in seconds. ``own_split`` has the other measures of the
    predictions behind ``clean``.
    """

    label: str
    task: str
    model: str
    scale: str
    seeds: int
    clean: Measure | None
    attacks: tuple[AttackSummary, ...]
    sparsity: Mapping[str, Measure]
    parameters: Measure | None
    search_seconds: Measure | None
    training_seconds: Measure | None
    seconds: Measure | None
    latency: Measure | None
    own_split: SetSummary | None
    challenges: tuple[SetSummary, ...]
    run: str = ""
    of: str = ""
    checkpoint: str = ""
    stage: str = ""
    split: str = ""
    keys: tuple[str, ...] = ()
    model_keys: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    """The checkpoints of training stages of which only checkpoints were used."""
    numbers: Mapping[str, Measure] = field(factory=dict)
    """The numbers that other stages measured of the model, by metric (``measure.bytes``)."""
    repeated: int = 0
    """The number of seeds whose measurement is that of an earlier seed, because it does not depend on the seed."""


def result_rows(results: Mapping[str, Any], name: str | None = None) -> list[ResultRow]:
    """Return the rows of a ``results.json``.

    A row's label is the recipe's name, or ``name`` instead, with the recipe's overrides. To distinguish rows, the label also has the model
    if there are several or it is a checkpoint, the stage if several stages evaluate the model, and the split if there are several. The
    attacks on a model that several stages evaluate have a separate row. Measurements by stages with their own task are rows of that task,
    and their label has the task of the run.
    """
    label = results.get("label", results["recipe"])
    label = label if name is None else name + label.removeprefix(results["recipe"])
    rows: list[ResultRow] = []
    for task, by_seed in results["tasks"].items():
        seeds: list[Stages] = list(by_seed.values())
        for data in dict.fromkeys(_measured_data(stage, task) for stages in seeds for stage in _measuring_stages(stages).values()):
            on_data = [_without_measurements_of_other_data(stages, task, data) for stages in seeds]
            models = list(dict.fromkeys(_measured_model(stage) for stages in on_data for stage in _measuring_stages(stages).values()))
            of_run = label if data == task else f"{label} (run on {task})"
            for model in models:
                alone = len(models) == 1 and not model[1]
                rows += _rows(of_run if alone else f"{of_run} {checkpoint_name(*model)}", data, model, on_data, results)
    splits = {row.split for row in rows if row.split}
    return [evolve(row, label=f"{row.label} on {row.split}") if row.split and len(splits) > 1 else row for row in rows]


def group_by_task(rows: Sequence[ResultRow]) -> list[list[ResultRow]]:
    """Return the rows of each task, in the order of their first rows."""
    return [[row for row in rows if row.task == task] for task in dict.fromkeys(row.task for row in rows)]


def count_errors(results: Mapping[str, Any]) -> int:
    """Return the number of attacked examples that ended in an error, over all tasks, seeds and attacks."""
    return _count(results, "errors")


def count_timeouts(results: Mapping[str, Any]) -> int:
    """Return the number of attacked examples that exceeded their time limit, over all tasks, seeds and attacks."""
    return _count(results, "timeouts")


def mostly_timed_out(results: Mapping[str, Any]) -> list[str]:
    """Return the attacks in which more examples exceeded the time limit than have a result."""
    return list(dict.fromkeys(name for name, attack in _attacks_in(results) if attack.get("timeouts", 0) > attack["n"]))


def _count(results: Mapping[str, Any], status: str) -> int:
    """Return the number of attacked examples that ended with this status, including attacks whose texts augment a training stage."""
    return sum(attack.get(status, 0) for _, attack in _attacks_in(results))


def _attacks_in(results: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, attack) for stage in stage_results(results) for name, attack in stage.result.get("attacks", {}).items()]


def _measuring_stages(stages: Stages) -> Stages:
    """Return the stages that measured a model, without attacks whose texts augment a training stage."""
    return {name: stage for name, stage in measuring_stages(stages).items() if _is_known(stage, stages)}


def _is_known(stage: Mapping[str, Any], stages: Stages) -> bool:
    """Return whether anything is known about the model of a stage: its cost, or what the stage measured."""
    return stage["of"] in stages or not stage.keys().isdisjoint(("clean", "attacks", "numbers"))


def _measured_data(stage: Mapping[str, Any], task: str) -> str:
    """Return the name of the data that a stage measured a model on: its own task, or that of the run."""
    return str(stage.get("task", task))


def _without_measurements_of_other_data(stages: Stages, task: str, data: str) -> Stages:
    others = {name for name, stage in _measuring_stages(stages).items() if _measured_data(stage, task) != data}
    return {name: stage for name, stage in stages.items() if name not in others}


def _measured_model(stage: Mapping[str, Any]) -> Model:
    return str(stage["of"]), str(stage.get("at", ""))


def _rows(label: str, task: str, model: Model, seeds: Sequence[Stages], results: Mapping[str, Any]) -> Iterator[ResultRow]:
    """Yield the rows of one model: one, or one for each stage that evaluated it and one for the attacks."""
    measured = [{name: stage for name, stage in _measuring_stages(stages).items() if _measured_model(stage) == model} for stages in seeds]
    names = list(dict.fromkeys(name for stages in measured for name, stage in stages.items() if "clean" in stage))
    row = evolve(_row_without_results(label, task, model, seeds, results), numbers=_own_numbers(model[0], seeds, measured))
    attacks = summarise_attacks(measured, _ambiguous_attacks(seeds))
    if len(names) <= 1:
        row = evolve(row, attacks=attacks, seeds=max((len(attack.keys) for attack in attacks), default=0) or len(seeds))
        yield _with_evaluation(row, names[0], measured, results) if names else row
        return
    for name in names:
        yield _with_evaluation(evolve(row, label=f"{label} {name}"), name, measured, results)
    if attacks:
        yield evolve(row, attacks=attacks)


def _own_numbers(of: str, seeds: Sequence[Stages], measured: Sequence[Stages]) -> dict[str, Measure]:
    """Return the numbers by name that stages report of a model: the stage ``of`` that made it, and those that measured it.

    Of several stages of one kind, those of the first are returned.
    """
    found: dict[str, dict[str, list[float]]] = {}
    reporting = [
        {**({of: stages[of]} if of in stages else {}), **{name: stage for name, stage in found.items() if measures(stage)}}
        for stages, found in zip(seeds, measured, strict=True)
    ]
    for name in dict.fromkeys(name for stages in reporting for name in stages):
        for stage in distinct_stages([stages[name] for stages in reporting if name in stages]):
            for number, value in stage.get("numbers", {}).items():
                found.setdefault(f"{stage['kind']}.{number}", {}).setdefault(name, []).append(value)
    summaries = {metric: summarise(next(iter(by_stage.values()))) for metric, by_stage in found.items()}
    return {metric: summary for metric, summary in summaries.items() if summary is not None}


def _row_without_results(label: str, task: str, model: Model, seeds: Sequence[Stages], results: Mapping[str, Any]) -> ResultRow:
    """Return a row that identifies a model and has its cost, but no measurements."""
    cost = model_cost(seeds, *model)
    return ResultRow(
        label=label,
        task=task,
        model=results["model"],
        scale=results["scale"],
        seeds=len(seeds),
        clean=None,
        attacks=(),
        sparsity=cost.sparsity,
        parameters=cost.parameters,
        search_seconds=cost.search_seconds,
        training_seconds=cost.training_seconds,
        seconds=cost.seconds,
        latency=None,
        own_split=None,
        challenges=(),
        run=results.get("run", ""),
        of=model[0],
        checkpoint=model[1],
        model_keys=tuple(checkpoint_name(str(stages[model[0]]["key"]), model[1]) for stages in seeds if "key" in stages.get(model[0], {})),
        partly=cost.partly,
    )


def _with_evaluation(row: ResultRow, name: str, measured: Sequence[Stages], results: Mapping[str, Any]) -> ResultRow:
    """Return the row with the results of the stage ``name``; a measurement shared by several seeds counts once."""
    stages = distinct_stages([of_seed[name] for of_seed in measured if name in of_seed])
    own = summarise_set(row.task, [stage["clean"] for stage in stages], _reported_measures(results, row.task))
    sets = dict.fromkeys(name for stage in stages for name in stage.get("ood", {}))
    return evolve(
        row,
        seeds=len(stages),
        repeated=sum(name in of_seed for of_seed in measured) - len(stages),
        stage=name,
        split=own.split,
        keys=tuple(str(stage["key"]) for stage in stages if "key" in stage),
        clean=own.accuracy,
        own_split=own,
        challenges=tuple(
            summarise_set(ood, [stage["ood"][ood] for stage in stages if ood in stage.get("ood", {})], _reported_measures(results, ood))
            for ood in sets
        ),
        latency=summarise([_latency(stage) for stage in stages]),
    )


def _reported_measures(results: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the measures that are shown for a data set in addition to its accuracy."""
    return tuple(results.get("data", {}).get(name, {}).get("measures", ()))


def _latency(stage: Mapping[str, Any]) -> float | None:
    """Return the seconds per predicted example, including the examples of challenge sets."""
    seconds = stage.get("cost", {}).get("prediction_seconds")
    predicted = sum(scores["n"] for scores in (stage["clean"], *stage.get("ood", {}).values()))
    return seconds / predicted if seconds is not None and predicted else None


def _ambiguous_attacks(seeds: Sequence[Stages]) -> set[str]:
    """Return the attacks whose name alone does not identify their numbers.

    They ran with several settings, or in several stages on one model.
    """
    settings: dict[str, list[Any]] = {}
    for stage in (stage for stages in seeds for stage in _measuring_stages(stages).values()):
        for name in stage.get("attacks", {}):
            of_attack = attack_settings(stage, name)
            if of_attack not in settings.setdefault(name, []):
                settings[name].append(of_attack)
    on_one_model = [
        Counter((_measured_model(stage), name) for stage in _measuring_stages(stages).values() for name in stage.get("attacks", {}))
        for stages in seeds
    ]
    repeated = {name for counts in on_one_model for (_, name), count in counts.items() if count > 1}
    return repeated | {name for name, of_attack in settings.items() if len(of_attack) > 1}
