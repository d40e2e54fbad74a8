"""The test of a hypothesis on one task: the difference of the cells that it compares, paired by seed and example."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from ticketlab.core.errors import UsageError
from ticketlab.report.cells import Cell
from ticketlab.report.hypothesis import Hypothesis
from ticketlab.report.metric_values import metric_values
from ticketlab.report.paired_cells import CellPair, compare_cells


@frozen(kw_only=True)
class HypothesisTest:
    """The numbers of a hypothesis on one task.

    ``of_value`` and ``than_value`` are means over the paired seeds, shared examples, metrics and cells, and ``difference`` is the first
    less the second. ``interval`` is the 95 % interval of the difference. ``p`` is the two-sided p value against the difference of the null
    hypothesis: half of it is that of a one-sided test. ``deviation`` is that of the paired differences over seeds, and ``standard_error``
    that of the difference. ``missing`` says what has not been measured, if so, and ``reason`` why there is no test in spite of numbers.
    ``notes`` are limits of the test.
    """

    task: str
    of_value: float | None = None
    than_value: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    test: str = ""
    seeds: tuple[int, ...] = ()
    examples: int | None = None
    deviation: float | None = None
    standard_error: float | None = None
    missing: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()


def compare_on_task(hypothesis: Hypothesis, pairs: Sequence[tuple[Cell, Cell]], task: str) -> HypothesisTest:
    """Return the test of a hypothesis on a task, with the pairs of cells that it compares there.

    With several metrics or pairs the means of their values are compared; see :func:`ticketlab.report.paired_cells.compare_cells`.
    """
    result = HypothesisTest(task=task)
    missing = [reason for reason in dict.fromkeys(_unfinished(cell) for pair in pairs for cell in pair) if reason]
    if missing:
        return evolve(result, missing="; ".join(missing))
    try:
        compared = [_pair(one, other, metric, task) for one, other in pairs for metric in hypothesis.metrics]
    except UsageError as problem:  # a metric that was measured several times
        return evolve(result, reason=str(problem))
    sides = [(cell, pair.metric, values) for pair in compared for cell, values in zip(pair.cells, pair.values, strict=True)]
    without = [f"{cell.label} has no `{metric}` of {task}" for cell, metric, values in sides if not values]
    if without:
        return evolve(result, missing="; ".join(dict.fromkeys(without)))
    found = compare_cells(compared, null=hypothesis.null)
    numbers = found.numbers
    if numbers is None:
        return evolve(result, missing="the compared cells have no seed in common")
    return HypothesisTest(
        task=task,
        of_value=numbers.first,
        than_value=numbers.second,
        difference=numbers.difference,
        interval=numbers.interval,
        p=numbers.p,
        test=numbers.test,
        seeds=numbers.seeds,
        examples=numbers.examples,
        deviation=numbers.deviation,
        standard_error=numbers.standard_error,
        reason=numbers.reason,
        notes=found.notes,
    )


def _unfinished(cell: Cell) -> str:
    """Return why a cell has no numbers; empty if it has."""
    if cell.results is not None:
        return ""
    if cell.error:
        return f"{cell.label} failed: {cell.error}"
    return f"{cell.label}: {cell.unavailable or cell.missing or 'not finished'}"


def _pair(one: Cell, other: Cell, metric: str, task: str) -> CellPair:
    first, second = (metric_values(cell, metric).get(task, ()) for cell in (one, other))
    return CellPair.of(metric, task, (one, other), (first, second))
