"""The test of a hypothesis on one task: the difference of the cells that it compares, paired by seed and example."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from ticketlab.core.errors import UsageError
from ticketlab.report.cells import Cell
from ticketlab.report.hypothesis import Hypothesis
from ticketlab.report.metric_values import metric_values
from ticketlab.report.paired_cells import CellPair, compare_cells
from ticketlab.statistics.paired import PairedDifference


@frozen(kw_only=True)
class HypothesisTest:
    """The numbers of a hypothesis on one task.

    ``numbers`` are those of the cells of ``of`` less those of ``than``, as means over seeds, examples, metrics and cells; their ``p`` is
    two-sided, against the difference of the null hypothesis: half of it is that of a one-sided test. They are None if something has not
    been measured, which ``missing`` says, or cannot be compared. ``reason`` says why there are no numbers, or no test. ``notes`` are limits
    of the test.
    """

    task: str
    numbers: PairedDifference | None = None
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
    return evolve(result, numbers=numbers, reason=numbers.reason, notes=found.notes)


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
