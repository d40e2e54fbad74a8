"""How tables show a metric: its headings, its unit, and whether more is better."""

from __future__ import annotations

import math
import re
from typing import cast

from attrs import frozen

from ticketlab.core import registry
from ticketlab.lab.results import CORRELATIONS, SHARES
from ticketlab.lab.results import COUNTS as COUNTED
from ticketlab.metrics.base import Metric

SPEED_UP = "speed_up"
"""The metric of a table that divides the baseline's seconds of optimizer steps by the cell's; :mod:`ticketlab.report.speed_up`."""
PARAMETERS = "cost.parameters"
"""Trained parameters, which tables show in millions, as papers do."""
HEADINGS = {
    "accuracy": "Acc",
    "balanced_accuracy": "Balanced",
    "macro_f1": "Macro F1",
    "weighted_f1": "Weighted F1",
    "binary_f1": "F1",
    "aua": "Aua",
    "suc": "Suc",
    "clean": "Clean",
    "queries": "#Query",
    "words_changed": "Words",
    "search_seconds": "Search s",
    "training_seconds": "Training s",
    "seconds": "Seconds",
    "parameters": "Trained",
}
SOURCES = {"clean": "Clean", "cost": "Cost", "measure": "Model", "sparsity": "Sparsity", "latency": "Latency", SPEED_UP: "Cost"}
"""The headings above the measures of the metrics of a kind; those of challenge sets and attacks have their name."""
HIGHER = {"accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "matthews", "clean", "aua", "queries"}
LOWER = {"suc", "search_seconds", "training_seconds", "seconds", "calibration_error", "bias_degree", "loss", "log_loss"}
COUNTS = {
    *("skipped", "errors", "timeouts", "outside", "unseen"),
    *("tokens", "cut_tokens", "unknown_tokens", "characters", "unknown_characters"),
}
OF_LABEL = ("recall", "predicted", "examples")
"""Measures that are followed by a label."""
FRACTIONS = {*SHARES, "unknown_share", "unknown_character_share", "open", "zeros", "ones"}
SPLIT = re.compile(r"(dev|train|all)\.(?=clean\.|ood\.|attack\.)")


@frozen
class MetricText:
    """The texts of a metric. ``source`` is the heading over the columns of one set, attack or group, and ``heading`` that of the column.

    Values are multiplied by ``factor`` and shown with ``digits`` decimal places. ``better`` is 1 if more is better, -1 if less is, and
    0 for a metric that describes without judging. ``limits`` are the least and the greatest possible value.
    """

    source: str
    heading: str
    factor: float
    digits: int
    better: int
    limits: tuple[float, float] = (-math.inf, math.inf)

    def number(self, value: float) -> str:
        """Return a value as text."""
        return f"{self.factor * value:.{self.digits}f}"

    def exact_number(self, value: float) -> str:
        """Return a value that was chosen, such as a margin, as text with all its digits."""
        rounded, exact = self.number(value), f"{self.factor * value:.10g}"
        return rounded if float(rounded) == float(exact) else exact


def metric_text(metric: str) -> MetricText:
    """Return the texts of a metric; unknown ones are shown by their name."""
    split, kind, name, measure = split_metric(metric)
    source = (name or SOURCES.get(kind, kind)) + (f" ({split})" if split else "")
    own = registered_metric(measure.rpartition(".")[2].removeprefix("dev_")) if kind in ("clean", "ood", "history") else None
    if own is not None:
        return _of_registered(own, source)
    last = measure.partition(".")[0] if measure.startswith(OF_LABEL) else measure
    fraction = kind == "sparsity" or last in FRACTIONS or last in OF_LABEL or last.startswith(("replaceable_", "allowed_", "unseen_"))
    heading = HEADINGS.get(measure, measure.replace("_", " ") if kind != "sparsity" else measure)
    if metric == SPEED_UP:
        return MetricText(source, "Speed-up", 1, 2, 1, (0, math.inf))
    if kind == "measure" and (text := _of_measure(source, measure)) is not None:
        return text
    if metric == PARAMETERS:
        return MetricText(source, f"{heading} (M)", 1e-6, 2, 0, (0, math.inf))
    few_digits = fraction or (last in (*LOWER, "queries") and "loss" not in last)
    digits = 4 if kind == "latency" else 1 if few_digits or last in COUNTS else 3
    better = 1 if last in HIGHER else -1 if last.removeprefix("dev_") in LOWER else 0
    limits = (0, 1) if fraction else _limits(kind, last)
    return MetricText(source, f"{heading} %" if fraction else heading, 100 if fraction else 1, digits, better, limits)


def _of_measure(source: str, name: str) -> MetricText | None:
    """Return the texts of a number of a measure stage: megabytes, millions of parameters, milliseconds of a batch."""
    if name in ("bytes", "parameters"):
        return MetricText(source, "Size MB" if name == "bytes" else "Parameters (M)", 1e-6, 2, -1, (0, math.inf))
    batch = name.removeprefix("latency_")
    return MetricText(source, f"ms, batch {batch}", 1000, 2, -1, (0, math.inf)) if batch != name else None


def registered_metric(name: str) -> type[Metric] | None:
    """Return the class of a metric that evaluations compute on request, None if no built-in or plugin is called ``name``."""
    known = registry.current()
    return cast("type[Metric]", known.get("metric", name)) if known.knows("metric", name) else None


def _of_registered(metric: type[Metric], source: str) -> MetricText:
    heading = metric.heading or metric.name.replace("_", " ")
    better = 1 if metric.better == "higher" else -1
    factor = 100 if metric.percent else 1
    return MetricText(source, f"{heading} %" if metric.percent else heading, factor, metric.digits, better, metric.limits)


def _limits(kind: str, measure: str) -> tuple[float, float]:
    """Return the least and the greatest possible value of a measure that is no fraction."""
    if measure in CORRELATIONS:
        return -1, 1
    is_positive = kind in ("cost", "latency") or measure in COUNTS | COUNTED | LOWER
    return (0 if is_positive else -math.inf), math.inf


def split_metric(metric: str) -> tuple[str, str, str, str]:
    """Return the split (empty for test), the kind, the set or attack, and the measure: ``("dev", "ood", "hans", "accuracy")``."""
    found = SPLIT.match(metric)
    split, rest = (found[1], metric[found.end() :]) if found else ("", metric)
    kind, _, rest = rest.partition(".")
    if kind not in ("ood", "attack"):
        return split, kind, "", rest or kind
    for measure in OF_LABEL:
        name, marker, label = rest.partition(f".{measure}.")
        if marker:
            return split, kind, name, f"{measure}.{label}"
    name, _, measure = rest.rpartition(".")
    return split, kind, name, measure
