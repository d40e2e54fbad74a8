"""The comparisons with the baseline that a table shows."""

from __future__ import annotations

from ticketlab.core.errors import UsageError
from ticketlab.report.baseline import find_baseline
from ticketlab.report.baseline_comparison import PairedComparison, compare_with_baseline
from ticketlab.report.cells import Comparison
from ticketlab.report.metric_text import SPEED_UP, metric_text, split_metric
from ticketlab.report.numbers import all_numbers
from ticketlab.report.speed_up import SpeedUp, speed_ups
from ticketlab.report.table_spec import TableSpec, resolve_axes, spec_of

COMPARED = ("clean", "ood", "attack")
"""The kinds of metrics that are tested. Times depend on the machine, and sparsities are settings."""


def compared_metrics(comparison: Comparison, spec: TableSpec | None = None) -> list[str]:
    """Return the metrics of a table that are tested, by default of that of the comparison's study."""
    numbers = all_numbers(comparison)
    measured = {number.metric for number in numbers if number.step is None}
    metrics = resolve_axes(comparison, numbers, spec or spec_of(comparison)).metrics
    return [metric for metric in metrics if metric in measured and split_metric(metric)[1] in COMPARED and metric_text(metric).better]


def compared_with_baseline(
    comparison: Comparison, spec: TableSpec | None = None
) -> tuple[tuple[PairedComparison, ...], tuple[SpeedUp, ...], str]:
    """Return the tests and the speed-ups of a table; none without a baseline. The text says why there are none in spite of one.

    :raises UsageError: the baseline is not the label of a cell or level.
    """
    if not comparison.baseline:
        return (), (), ""
    for cell in comparison.cells:
        find_baseline(comparison, cell)
    metrics = resolve_axes(comparison, all_numbers(comparison), spec or spec_of(comparison)).metrics
    try:
        return (
            compare_with_baseline(comparison, compared_metrics(comparison, spec)),
            speed_ups(comparison) if SPEED_UP in metrics else (),
            "",
        )
    except UsageError as problem:  # several measured models
        return (), (), str(problem)
