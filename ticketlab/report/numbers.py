"""All numbers of a comparison in long form: one per cell, task, seed, model and measure, without averaging.

Each number has a *metric*, its name in tables, figures, studies and ``ticketlab tune``::

    clean.accuracy  clean.macro_f1           a measure on the task's test split
    ood.hans.accuracy  ood.hans.weighted_f1  a measure on a challenge set
    attack.textfooler.aua  attack.pwws.suc   a measure under an attack
    cost.training_seconds  cost.parameters   the cost of the measured model
    sparsity.weights  sparsity.heads         the removed fraction of a group of units
    latency.seconds                          the seconds of a predicted example
    measure.bytes                            KIND.NAME: a number of a stage of this kind
    history.search.dev_accuracy              a measure during a training stage, with its step
    looks.search.distance_heads              an observation of a stop rule, with its step
    clean.recall.LABEL  ood.hans.recall.LABEL       of the examples of a label, the fraction predicted correctly
    clean.predicted.LABEL  clean.examples.LABEL     a label's fraction of the predictions and of the examples
    ood.hans[heuristic=subsequence].accuracy        a measure on a part of a set: the examples with one value in a column

A metric of another split than the test split begins with it: ``dev.clean.accuracy``, ``dev.attack.deepwordbug.aua``,
``train.clean.examples.LABEL``. The cost and the sparsity of a model are given once, however often the model is measured.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from ticketlab.core.intervals import wilson
from ticketlab.lab.results import StageResult, augmentation_sources, checkpoint_name, measures, stage_results, training_of
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.cost import model_cost

NOT_MEASURES = ("n", "split", "correct", "count", "total", "successes", "failures", "truncated")
"""Numbers in the results of a measurement that describe its examples."""
FRACTIONS = ("accuracy", "recall", "predicted")
"""Measures of a set that are fractions of its examples, and have an interval."""
FRACTIONS_OF_ATTACK = ("clean", "aua", "suc")
COUNTS_OF_ATTACK = ("skipped", "errors", "timeouts")


@frozen(kw_only=True)
class Number:
    """One number of one seed.

    ``levels`` has the cell's level of each factor. ``task`` is the data that it is a number of: the task of the run, or that of a stage
    that has its own. ``stage`` is the stage that measured it, ``key`` its key in the lab, and ``of`` and ``checkpoint`` the measured model;
    the cost and the sparsity of a model have the stage that produced it. ``set`` names the challenge set, empty for the task itself, and
    ``subset`` the part of a set, ``COLUMN=VALUE``. ``n`` is the number of examples behind an average over examples, and ``interval`` its
    95 % interval, which covers the choice of the examples. ``step`` is None unless the number was measured during a training.
    """

    cell: str
    levels: Mapping[str, str]
    run: str
    recipe: str
    task: str
    model: str
    scale: str
    seed: int
    stage: str
    key: str
    of: str = ""
    checkpoint: str = ""
    set: str = ""
    subset: str = ""
    split: str = "test"
    attack: str = ""
    sample: int | None = None
    sample_seed: int | None = None
    metric: str = ""
    value: float
    interval: tuple[float, float] | None = None
    n: int | None = None
    step: int | None = None


_Fields = dict[str, Any]
"""Fields of a number, by name: those that several numbers share."""
_known: weakref.WeakKeyDictionary[Cell, tuple[Number, ...]] = weakref.WeakKeyDictionary()
"""The numbers of the cells in memory: tables, statistics and pages read them many times."""


def all_numbers(comparison: Comparison) -> list[Number]:
    """Return the numbers of all finished cells."""
    return [number for cell, _ in comparison.finished for number in numbers(cell)]


def numbers(cell: Cell) -> tuple[Number, ...]:
    """Return the numbers of a cell, by task, seed and stage."""
    if cell not in _known:
        _known[cell] = tuple(_numbers(cell))
    return _known[cell]


def _numbers(cell: Cell) -> Iterator[Number]:
    if cell.results is None:
        return
    with_cost: set[tuple[str, ...]] = set()
    for stage in stage_results(cell.results):
        if stage.name in augmentation_sources(stage.siblings):
            continue
        shared = _shared(cell, cell.results, stage)
        if "of" in stage.result:
            yield from _measurements(shared, stage)
            model = stage.task, stage.seed, shared["of"], shared["checkpoint"]
            yield from _cost(shared, stage) if model not in with_cost else ()
            with_cost.add(model)
        elif stage.name == list(stage.siblings)[-1] and not any("of" in one for one in stage.siblings.values()):
            yield from _cost(shared | {"of": stage.name}, stage)  # the run measures no model, and ends with a ticket or a training
        yield from _observations(shared, stage)
        yield from _own_numbers(shared, stage)
    yield from _class_shares(cell, cell.results)


def _shared(cell: Cell, results: Mapping[str, Any], stage: StageResult) -> _Fields:
    """Return what the numbers of a stage share."""
    return {
        "cell": cell.label,
        "levels": cell.levels,
        "run": cell.folder.name,
        "recipe": str(results["recipe"]),
        "task": stage.data,
        "model": str(results["model"]),
        "scale": str(results["scale"]),
        "seed": int(stage.seed),
        "stage": stage.name,
        "key": stage.key,
        "of": str(stage.result.get("of", "")),
        "checkpoint": str(stage.result.get("at", "")),
        "split": "test",
    }


def _measurements(shared: _Fields, stage: StageResult) -> Iterator[Number]:
    """Yield the numbers of an evaluate or attack stage."""
    result = stage.result
    if clean := result.get("clean"):
        yield from _of_set(shared | {"split": clean.get("split", "test")}, "clean", clean)
        predicted = sum(found["n"] for found in (clean, *result.get("ood", {}).values()))
        if predicted and "prediction_seconds" in result.get("cost", {}):
            yield Number(**shared, metric="latency.seconds", value=result["cost"]["prediction_seconds"] / predicted)
    for name, found in result.get("ood", {}).items():
        yield from _of_set(shared | {"set": name, "split": found.get("split", "test")}, f"ood.{name}", found)
    sample = result.get("sample", {})
    sampled = {"split": sample.get("split", "test"), "sample": sample.get("size"), "sample_seed": sample.get("seed")}
    for name, found in result.get("attacks", {}).items():
        yield from _of_attack(shared | sampled | {"attack": name}, found)


def _cost(shared: _Fields, stage: StageResult) -> Iterator[Number]:
    """Yield the cost and the sparsity of the model that a stage measured. A model from outside the recipe has none."""
    of, at = shared["of"], shared["checkpoint"]
    if of not in stage.siblings:
        return
    shared = shared | {"stage": of, "key": checkpoint_name(str(stage.siblings[of].get("key", "")), at)}
    cost = model_cost([stage.siblings], of, at)
    for name in ("seconds", "search_seconds", "training_seconds", "parameters"):
        if (measure := getattr(cost, name)) is not None:
            yield Number(**shared, metric=f"cost.{name}", value=measure.mean)
    for group, measure in cost.sparsity.items():
        yield Number(**shared, metric=f"sparsity.{group}", value=measure.mean)


def _of_set(shared: _Fields, prefix: str, found: Mapping[str, Any]) -> Iterator[Number]:
    """Yield the measures on a set of examples, those of each label, and those of its subsets."""
    prefix = prefix if shared["split"] == "test" else f"{shared['split']}.{prefix}"
    yield from _of_examples(shared, prefix, found)
    if found.get("n"):
        for kind, name in (("labels", "examples"), ("predicted", "predicted")):
            for label, count in found.get(kind, {}).items():
                yield _number(shared, prefix, f"{name}.{label}", count / found["n"], found["n"])
    for column, parts in found.get("subsets", {}).items():
        for value, part in parts.items():
            subset = f"{column}={value}"
            yield from _of_examples(shared | {"subset": subset}, f"{prefix}[{subset}]", part)


def _of_examples(shared: _Fields, prefix: str, found: Mapping[str, Any]) -> Iterator[Number]:
    for name, value in found.items():
        if name not in NOT_MEASURES and _is_number(value):
            yield _number(shared, prefix, name, value, found.get("n"))
    for name, value in found.get("metrics", {}).items():
        if _is_number(value):
            yield _number(shared, prefix, name, value, found.get("n"))
    for label, value in found.get("recall", {}).items():
        if _is_number(value):
            yield _number(shared, prefix, f"recall.{label}", value, found.get("labels", {}).get(label))


def _number(shared: _Fields, prefix: str, name: str, value: float, n: int | None) -> Number:
    """Return a measure on a set. A fraction of the examples has an interval."""
    interval = wilson(value, n) if n and name.split(".")[0] in FRACTIONS else None
    return Number(**shared, metric=f"{prefix}.{name}", value=float(value), n=n, interval=interval)


def _of_attack(shared: _Fields, found: Mapping[str, Any]) -> Iterator[Number]:
    prefix = f"attack.{shared['attack']}" if shared["split"] == "test" else f"{shared['split']}.attack.{shared['attack']}"
    for name, value in found.items():
        if name in COUNTS_OF_ATTACK:
            yield Number(**shared, metric=f"{prefix}.{name}", value=float(value))
        elif name not in NOT_MEASURES and _is_number(value):
            details = found.get(f"{name}_of", {})
            n = details.get("total", details.get("n", found.get("n")))
            interval = tuple(details["interval"]) if details.get("interval") else None
            interval = wilson(value, n) if n and name in FRACTIONS_OF_ATTACK else interval
            yield Number(**shared, metric=f"{prefix}.{name}", value=float(value), n=n, interval=interval)


def _class_shares(cell: Cell, results: Mapping[str, Any]) -> Iterator[Number]:
    """Yield the fraction of each label in the splits of the task and of the challenge sets that no stage evaluated a model on."""
    evaluated: set[tuple[str, str, str]] = set()
    for stage in stage_results(results):
        sets = {"": stage.result.get("clean", {}), **stage.result.get("ood", {})}
        evaluated |= {(stage.data, name, found.get("split", "test")) for name, found in sets.items() if found.get("labels")}
    for task, seeds in results["tasks"].items():
        for name in ("", *results.get("ood", ())):
            about = results.get("data", {}).get(f"{name} (ood)" if name in results["tasks"] else name or task, {})
            for split, counts in about.get("classes", {}).items():
                if (total := sum(counts.values())) and (task, name, split) not in evaluated:
                    data = StageResult(task, next(iter(seeds)), "data", {"key": about.get("fingerprint", "")}, {})
                    shared = {**_shared(cell, results, data), "set": name, "split": split}
                    prefix = f"ood.{name}" if name else "clean"
                    prefix = prefix if split == "test" else f"{split}.{prefix}"
                    yield from (_number(shared, prefix, f"examples.{label}", count / total, total) for label, count in counts.items())


def _observations(shared: _Fields, stage: StageResult) -> Iterator[Number]:
    """Yield what a training stage measured at each evaluation, and what its stop rule observed."""
    shared = shared | {"split": "dev"}
    training = training_of(stage.result)
    for kind, records in (("history", training.get("history", ())), ("looks", training.get("stop", {}).get("looks", ()))):
        for record in records:
            for name, value in record.items():
                if name != "step" and _is_number(value):
                    yield Number(**shared, metric=f"{kind}.{stage.name}.{name}", value=float(value), step=int(record["step"]))


def _own_numbers(shared: _Fields, stage: StageResult) -> Iterator[Number]:
    """Yield the numbers that a stage reports by name, as ``KIND.NAME``, of the model that it measured or made."""
    shared = shared if measures(stage.result) else shared | {"of": stage.name, "checkpoint": ""}
    for name, value in stage.result.get("numbers", {}).items():
        if _is_number(value):
            yield Number(**shared, metric=f"{stage.kind}.{name}", value=float(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
