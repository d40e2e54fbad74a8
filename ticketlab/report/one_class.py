"""Finds the numbers of attacks on models that predict one class for every example: such a model cannot be fooled, so they say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ticketlab.attacks.results.one_class import label_of_one_class
from ticketlab.lab.results import stage_results
from ticketlab.report.cells import Cell
from ticketlab.report.metric_text import split_metric
from ticketlab.report.numbers import numbers
from ticketlab.report.summaries import Summary, summarise_numbers

_Model = tuple[str, int, str, str]
"""The task, the seed, the stage that produced a model, and the checkpoint."""


def nothing_to_fool(cell: Cell, summary: Summary) -> str:
    """Return that the attacked model of a cell predicts one class for every example, and with how many seeds; empty if it does not.

    It is known from the predictions of the evaluate stages, and if they show several classes or there are none, from the attack's sample.
    """
    if not summary.number.attack or cell.results is None:
        return ""
    of_models, of_samples = dict(_evaluated(cell.results)), dict(_sampled(cell.results))
    classes: list[str] = []
    only_sample = False
    for number in summary.values:
        found = of_models.get((number.task, number.seed, number.of, number.checkpoint))
        in_sample = of_samples.get((number.task, number.seed, number.stage))
        only_sample |= found is None and in_sample is not None
        classes += [label for label in [found or in_sample] if label is not None]
    if not classes:
        return ""
    labels = " or ".join(f"`{label}`" for label in dict.fromkeys(classes))
    seeds = len(summary.values)
    share = f" with {len(classes)} of {seeds} seeds" if seeds > 1 else ""
    return f"predicts {labels} for every example{' of the sample' if only_sample else ''}{share}: nothing to fool"


def metric_of_one_class(cell: Cell, metric: str, task: str = "") -> str:
    """Return :func:`nothing_to_fool` of a metric of a cell, on a task or on any; empty if its numbers say something."""
    if split_metric(metric)[1] != "attack":
        return ""
    found = summarise_numbers(number for number in numbers(cell) if number.metric == metric and task in ("", number.task))
    return next((reason for summary in found if (reason := nothing_to_fool(cell, summary))), "")


def _evaluated(results: Mapping[str, Any]) -> Iterator[tuple[_Model, str]]:
    """Yield the models that predict one class for all examples of the evaluated splits, although these have several, and the class."""
    predicted: dict[_Model, set[str]] = {}
    true: dict[_Model, set[str]] = {}
    for stage in stage_results(results):
        clean = stage.result.get("clean", {})
        if "predicted" in clean:
            model = stage.data, int(stage.seed), str(stage.result["of"]), str(stage.result.get("at", ""))
            predicted.setdefault(model, set()).update(label for label, count in clean["predicted"].items() if count)
            true.setdefault(model, set()).update(label for label, count in clean.get("labels", {}).items() if count)
    for model, labels in predicted.items():
        if len(labels) == 1 < len(true[model]):
            yield model, next(iter(labels))


def _sampled(results: Mapping[str, Any]) -> Iterator[tuple[tuple[str, int, str], str]]:
    """Yield the attack stages, by task, seed and name, that warn of one class for all examples of the sample, and the class."""
    for stage in stage_results(results):
        if "attacks" in stage.result:
            for warning in stage.result.get("warnings", ()):
                label = label_of_one_class(warning)
                if label is not None:
                    yield (stage.data, int(stage.seed), stage.name), label
