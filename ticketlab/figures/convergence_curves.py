"""Clean accuracy and Aua over the steps of a training (RobusT, Figure 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
from attrs import evolve

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.figures.line_chart import LineArguments
from ticketlab.figures.measured import Measured, check_finished, measured
from ticketlab.figures.run_factors import with_factors
from ticketlab.figures.spread import Band
from ticketlab.figures.step_curves import step_chart
from ticketlab.lab.results import training_of
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.numbers import all_numbers

DEVELOPMENT = "dev_accuracy"


def convergence(
    comparison: Comparison,
    *,
    y: str | Sequence[str] = "",
    color: str | Sequence[str] | None = None,
    facet: str | None = None,
    band: Band = "deviation",
    title: str = "",
    width: int = 640,
) -> alt.TopLevelMixin:
    """Return a chart of metrics over the steps of the training whose model was measured.

    ``y`` are measures at each evaluation of a training (``dev_accuracy``, ``loss``), and metrics of models: those are points where a
    checkpoint (``retrain@500``) or the finished model was evaluated or attacked. By default it is the accuracy on the development split,
    and each accuracy and Aua that was measured on a checkpoint.

    :raises UsageError: no finished cell has a metric, or a factor does not exist.
    """
    comparison = with_factors(comparison, color, facet)
    check_finished(comparison)
    numbers = all_numbers(comparison)
    named = [y] if isinstance(y, str) and y else list(y)
    at_checkpoints = dict.fromkeys(number.metric for number in numbers if number.checkpoint)
    chosen = named or [DEVELOPMENT, *(name for name in at_checkpoints if name == "clean.accuracy" or name.endswith(".aua"))]
    during = dict.fromkeys(number.metric.rpartition(".")[2] for number in numbers if number.metric.startswith("history."))
    known = {number.metric for number in numbers if number.of}
    entries: list[Measured] = []
    for metric in chosen:
        if metric in during:
            entries += _during(comparison, metric)
        elif metric in known:
            entries += _of_models(comparison, metric)
        else:
            raise UsageError(f"y: no finished cell has `{metric}` over steps{did_you_mean(metric, [*during, *known])}")
    if not entries:
        raise UsageError(f"y: no training of a measured model has recorded `{chosen[0]}`")
    arguments = LineArguments(color, facet, band, "linear", title or "Convergence of the training", width)
    return step_chart(comparison, entries, arguments, measurements=True)


def _during(comparison: Comparison, measure: str) -> list[Measured]:
    """Return what the trainings of the measured models recorded. All have one metric, whatever the names of their stages."""
    found = []
    for cell, stage in _trainings(comparison):
        metric = f"history.{stage}.{measure}"
        one = evolve(comparison, cells=(cell,))
        if any(number.metric == metric for number in all_numbers(one)):
            found += [evolve(entry, metric=f"history.{measure}") for entry in measured(one, [metric], argument="y")]
    return found


def _of_models(comparison: Comparison, metric: str) -> list[Measured]:
    """Return the numbers of checkpoints and finished models with the step of the model, as one measurement per training."""
    found = []
    for entry in measured(comparison, [metric], argument="y", checkpoints=True):
        steps = _steps(entry.cell, entry.task, entry.of)
        if steps is not None:
            found.append(evolve(entry, step=_step_of(entry.checkpoint, steps), measurement=entry.of))
    return found


def _trainings(comparison: Comparison) -> Iterator[tuple[Cell, str]]:
    """Yield the training stages whose models were measured, with their cells."""
    for cell, results in comparison.finished:
        if cell.same_as and cell.inapplicable:
            continue
        stages = [stages for seeds in results["tasks"].values() for stages in seeds.values()]
        measured_models = dict.fromkeys(stage["of"] for of_seed in stages for stage in of_seed.values() if stage.get("of") in of_seed)
        for name in measured_models:
            if any(training_of(of_seed.get(name, {})) for of_seed in stages):
                yield cell, name


def _steps(cell: Cell, task: str, stage: str) -> int | None:
    """Return the number of steps of a training, or None if it is not of this cell."""
    tasks: Any = (cell.results or {})["tasks"]
    for stages in tasks.get(task, {}).values():
        result = stages.get(stage, {})
        if training := training_of(result):
            return int(training["steps"])
    return None


def _step_of(checkpoint: str, steps: int) -> int:
    """Return the step of a checkpoint (``500``, ``55%``); that of the finished model is the last one."""
    if not checkpoint:
        return steps
    from ticketlab.stages.base import step_of  # imports torch

    return step_of(checkpoint, steps)
