"""The values of one metric in a cell: one per task and seed, of one measured model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.lab.results import checkpoint_name, measuring_stages
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.metric_text import metric_text, split_metric
from ticketlab.report.numbers import Number, all_numbers, numbers
from ticketlab.report.unknown_metric import metric_hint

COSTS = ("cost.", "sparsity.")
"""Metrics of a model that are the same in every stage that measured it."""


@frozen
class SeedValue:
    """The value of a metric for one seed. ``key`` is that of the measuring stage: equal keys are one measurement, made once."""

    seed: int
    value: float
    key: str
    stage: str
    of: str
    n: int | None = None
    step: int | None = None


def metric_values(cell: Cell, metric: str, of: str = "") -> dict[str, tuple[SeedValue, ...]]:
    """Return the values of a metric by task, in the order of the seeds; no tasks if the cell does not have the metric.

    Of a metric with several steps (``history.``, ``looks.``), the last step counts. ``of`` is the measured model (``retrain``,
    ``finetune@500``) or the measuring stage; it is only needed if the cell measured the metric more than once.

    :raises UsageError: the cell measured the metric of several models or in several stages, and ``of`` does not name one.
    """
    found = [number for number in numbers(cell) if number.metric == metric and _is_of(number, of)]
    by_task: dict[str, dict[int, Number]] = {}
    for number in found:
        of_task = by_task.setdefault(number.task, {})
        earlier = of_task.get(number.seed)
        if earlier is not None and number.step is None and not (metric.startswith(COSTS) and _model(earlier) == _model(number)):
            raise _ambiguous(cell, metric, found)
        if earlier is None or (number.step or 0) >= (earlier.step or 0):
            of_task[number.seed] = number
    return {
        task: tuple(_seed_value(of_task[seed]) for seed in sorted(of_task))
        for task, of_task in by_task.items()
    }  # fmt: skip


def distinct_values(values: Sequence[SeedValue]) -> list[SeedValue]:
    """Return the values without those of seeds that share an earlier seed's measurement, because it does not depend on the seed."""
    return list({value.key: value for value in reversed(values)}.values())[::-1]


def measured_model(cell: Cell, stages: Mapping[str, Mapping[str, Any]], of: str = "") -> tuple[str, str] | None:
    """Return the stage and the checkpoint of the model that a cell measured, None if it measured none.

    ``stages`` are those of one task and seed. ``of`` is as in :func:`metric_values`.

    :raises UsageError: there are several, and ``of`` does not name one.
    """
    models = {name: (str(stage["of"]), str(stage.get("at", ""))) for name, stage in measuring_stages(stages).items()}
    found = dict.fromkeys(model for name, model in models.items() if of in ("", name, model[0], checkpoint_name(*model)))
    if len(found) == 1:
        return next(iter(found))
    names = [checkpoint_name(*model) for model in found or models.values()]
    if not names:
        return None
    if found:
        raise UsageError(f"{cell.label} measured several models, {', '.join(f'`{name}`' for name in names)}; name one")
    raise UsageError(f"{cell.label} measured no model `{of}`{did_you_mean(of, names)}")


def check_metric(comparison: Comparison, metric: str) -> None:
    """Check that a finished cell has the metric.

    :raises UsageError: none has.
    """
    known = dict.fromkeys(number.metric for number in all_numbers(comparison))
    if metric not in known:
        raise UsageError(f"no run has the metric `{metric}`{metric_hint(metric, known)}")


def lower_is_better(metric: str) -> bool:
    """Return whether lower values of a metric are better: success rates of attacks, losses, errors and costs.

    :raises UsageError: it is a metric of a set, and neither ticketlab nor a plugin says which values are better.
    """
    better = metric_text(metric).better
    if not better and split_metric(metric)[1] in ("clean", "ood"):
        raise UsageError(f"`{metric}`: it is not known whether more or less is better; load the plugin that has the metric (--plugin)")
    return better < 0 or metric.endswith("loss")


def _is_of(number: Number, of: str) -> bool:
    return of in ("", number.of, _model(number), number.stage)


def _model(number: Number) -> str:
    return checkpoint_name(number.of, number.checkpoint)


def _seed_value(number: Number) -> SeedValue:
    return SeedValue(number.seed, number.value, number.key, number.stage, _model(number), number.n, number.step)


def _ambiguous(cell: Cell, metric: str, found: Sequence[Number]) -> UsageError:
    models, stages = (list(dict.fromkeys(names)) for names in zip(*((_model(number), number.stage) for number in found), strict=True))
    kind, names = ("models", models) if len(models) > 1 else ("stages", stages)
    listed = ", ".join(f"`{name}`" for name in names)
    return UsageError(f"{cell.label}: `{metric}` was measured {'of' if kind == 'models' else 'in'} several {kind}, {listed}; name one")
