"""A metric against sparsity, the penalty lambda, gamma, a ratio or any other factor, with bands over seeds and baselines."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import joined, printable
from ticketlab.figures.factors import Dimensions
from ticketlab.figures.line_chart import LineArguments, Positions, line_chart
from ticketlab.figures.measured import Measured, measured
from ticketlab.figures.metric_labels import label_of
from ticketlab.figures.positions import AxisScale, as_number
from ticketlab.figures.run_factors import with_factors
from ticketlab.figures.spread import Band
from ticketlab.report.cells import Comparison, Factor

METRICS = ("sparsity", "cost", "clean", "attack", "ood", "dev", "latency", "measure")
"""The kinds of metrics that may be on the horizontal axis."""


def metric(
    comparison: Comparison,
    *,
    x: str,
    y: str | Sequence[str],
    color: str | Sequence[str] | None = None,
    facet: str | None = None,
    band: Band = "deviation",
    axis: AxisScale = "auto",
    title: str = "",
    width: int = 640,
) -> alt.TopLevelMixin:
    """Return a chart of one or several metrics ``y`` against ``x``, a factor or a metric, one line per level of ``color``.

    Factors that are named nowhere are added to the lines' labels, so that no line mixes cells. ``facet`` is the factor of the panels, by
    default the task if there are several; ``"none"`` for one panel. Each metric has its own panels. A cell without ``x``, such as plain
    fine-tuning against sparsity, is a dashed horizontal line. The ``band`` is one standard deviation over seeds, or Student's 95 %
    interval of the mean; a single seed has none. With ``axis="auto"`` geometric levels are on a logarithmic axis, and levels that are not
    numbers are categories.

    :raises UsageError: no finished cell has a metric, a factor does not exist, or a logarithmic axis has values that are not positive.
    """
    comparison = with_factors(comparison, x, color, facet)
    metrics = [y] if isinstance(y, str) else list(y)
    if not metrics:
        raise UsageError("y: no metric is named")
    entries = measured(comparison, metrics, argument="y", repeats=True)
    entries.sort(key=lambda entry: metrics.index(entry.metric))
    dimensions = Dimensions.of(comparison, entries)
    positions = _positions(comparison, dimensions, entries, x)
    first, *others = (label_of(name) for name in metrics)
    names = joined([first.text, *(other.within for other in others)]) if len(metrics) < 4 else f"{len(metrics)} metrics"
    heading = title or f"{names} against {positions.title}"
    return line_chart(comparison, dimensions, entries, positions, LineArguments(color, facet, band, axis, heading, width))


def _positions(comparison: Comparison, dimensions: Dimensions, entries: Sequence[Measured], x: str) -> Positions:
    factor = dimensions.get(x)
    if factor is None and x.partition(".")[0] in METRICS:
        return _metric_positions(comparison, entries, x)
    factor = dimensions.find(x, "x")
    levels = [dimensions.level(entry, factor) for entry in entries]
    numbers = [None if level is None else as_number(level) for level in levels]
    title = _title(factor)
    if all(number is not None for number, level in zip(numbers, levels, strict=True) if level is not None):
        return Positions(title, numbers, factor)
    present = [level for level in factor.levels if level in levels]
    extra = [level for level in dict.fromkeys(levels) if level is not None and level not in present]
    return Positions(title, levels, factor, categories=tuple(printable(level) for level in (*present, *extra)))


def _title(factor: Factor) -> str:
    """Return a factor's name, and what it varies unless the name says it."""
    says = factor.key in ("", factor.name) or factor.key.endswith(f".{factor.name}") or "+" in factor.key
    return printable(factor.name if says else f"{factor.name} ({factor.key})")


def _metric_positions(comparison: Comparison, entries: Sequence[Measured], x: str) -> Positions:
    """Return positions from another metric of the same model; entries whose model has none are baselines."""
    about = label_of(x)
    others = measured(comparison, [x], argument="x", repeats=True)
    found = {(entry.cell.label, entry.task, entry.of): entry.mean * about.factor for entry in others}
    return Positions(about.axis, [found.get((entry.cell.label, entry.task, entry.of)) for entry in entries], determines=True)
