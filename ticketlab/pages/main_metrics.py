"""The metrics of a page's main table. All others are in the details of each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ticketlab.report.cells import Comparison
from ticketlab.report.metric_text import SPEED_UP, metric_text, split_metric
from ticketlab.report.numbers import Number
from ticketlab.report.summaries import Summary
from ticketlab.report.table_spec import resolve_axes, spec_of

ALSO: Mapping[str, tuple[str, ...]] = {
    "clean": ("balanced_accuracy",),
    "ood": ("balanced_accuracy", "weighted_f1"),
    "attack": ("suc", "queries", "words_changed", "similarity"),
    "cost": ("parameters",),
}
"""Measures, by the kind of their metric, that the page shows in addition to those of other tables unless the study names its metrics."""
UNLESS_ZERO = ("errors", "timeouts")
"""Counts of attacks that are shown if one of them is not zero."""


def main_metrics(comparison: Comparison, numbers: Sequence[Number]) -> list[str]:
    """Return the metrics of the columns, in their order: those of one set or attack next to each other."""
    spec = spec_of(comparison)
    metrics = list(resolve_axes(comparison, numbers, spec).metrics)
    if not spec.metrics:
        sources = {_source(metric) for metric in metrics}
        measured = dict.fromkeys(number.metric for number in numbers if number.step is None and not number.subset)
        nonzero = {number.metric for number in numbers if number.step is None and number.value}
        metrics += [metric for metric in measured if metric not in metrics and _source(metric) in sources and _is_also(metric, nonzero)]
    places = list(dict.fromkeys(_source(metric) for metric in metrics))
    return sorted(metrics, key=lambda metric: places.index(_source(metric)))


def ambiguous_metrics(summaries: Sequence[Summary]) -> set[str]:
    """Return the metrics that several stages measured of one model: their columns name the stage."""
    found = (summary.number for summary in summaries)
    counts = Counter((number.cell, number.task, number.of, number.checkpoint, number.metric) for number in found)
    return {metric for (*_, metric), count in counts.items() if count > 1}


def _is_also(metric: str, nonzero: set[str]) -> bool:
    _, kind, _, measure = split_metric(metric)
    return measure in ALSO.get(kind, ()) or (kind == "attack" and measure in UNLESS_ZERO and metric in nonzero)


def _source(metric: str) -> str:
    return metric_text(metric).source if metric != SPEED_UP else metric_text("cost.seconds").source
