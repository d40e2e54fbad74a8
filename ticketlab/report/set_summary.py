"""Summary over the seeds of a model's predictions on one set of examples: a challenge set, or a split of the task."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.report.statistics import Measure, summarise

SetResults = Sequence[Mapping[str, Any]]
MEASURES = ("balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "matthews")
"""The measures other than accuracy (:mod:`ticketlab.tasks.metrics`), in the order of tables."""


@frozen
class SubsetSummary:
    """The examples with one value in a column. ``recall`` is None for a label that none of them has."""

    n: int
    accuracy: Measure | None
    majority: float | None
    recall: Mapping[str, Measure | None]


@frozen
class SetSummary:
    """One set. All numbers but ``n`` are fractions, except the Matthews correlation in ``measures``, which ranges from -1 to 1.

    ``measures`` and ``baselines`` are keyed by :data:`MEASURES`: the score of the model, and that of always predicting the most common
    label, whose accuracy is ``majority``. ``measures`` also has the metrics that were requested, by name. Tables show the measures in
    ``shown``. ``outside`` is the fraction of predictions that map to no
    label of the set; ``labels`` and ``predicted`` have each label's fraction of the examples and of the predictions. ``subsets`` are keyed
    by column and value.
    """

    name: str
    split: str
    n: int
    accuracy: Measure | None
    measures: Mapping[str, Measure | None]
    majority: float | None
    baselines: Mapping[str, float | None]
    positive_label: str | None
    shown: tuple[str, ...]
    outside: Measure | None
    labels: Mapping[str, float]
    predicted: Mapping[str, Measure]
    recall: Mapping[str, Measure | None]
    subsets: Mapping[str, Mapping[str, SubsetSummary]]


def summarise_set(name: str, seeds: SetResults, shown: Sequence[str] = ()) -> SetSummary:
    """Summarise the results of ``evaluate`` on a set, one per seed and at least one. Keys may be missing."""
    nonempty = [result for result in seeds if result["n"]]
    requested = _names(seeds, "metrics")
    predicted = {
        label: summarise([_fraction(result, "predicted", label) for result in nonempty], [result["n"] for result in nonempty])
        for label in _names(seeds, "predicted")
    }
    return SetSummary(
        name=name,
        split=seeds[0].get("split", "test"),
        n=min(result["n"] for result in seeds),
        accuracy=summarise([result["accuracy"] for result in seeds], [result["n"] for result in seeds]),
        measures={
            **{measure: summarise([result.get(measure) for result in seeds]) for measure in MEASURES},
            **{name: summarise([result.get("metrics", {}).get(name) for result in seeds]) for name in requested},
        },
        majority=_mean([result.get("majority") for result in seeds]),
        baselines={measure: _mean([result.get(f"majority_{measure}") for result in seeds]) for measure in MEASURES},
        positive_label=seeds[0].get("positive_label"),
        shown=(*shown, *requested),
        outside=summarise(
            [result["outside"] / result["n"] for result in nonempty if "outside" in result], [result["n"] for result in nonempty]
        ),
        labels={
            label: fraction
            for label in _names(seeds, "labels")
            if (fraction := _mean([_fraction(result, "labels", label) for result in nonempty])) is not None
        },
        predicted={label: measure for label, measure in predicted.items() if measure is not None},
        recall=_recall(seeds),
        subsets={column: _subsets([result.get("subsets", {}).get(column, {}) for result in seeds]) for column in _names(seeds, "subsets")},
    )


def _subsets(seeds: SetResults) -> dict[str, SubsetSummary]:
    by_value = {
        value: [result[value] for result in seeds if value in result]
        for value in dict.fromkeys(value for result in seeds for value in result)
    }
    return {
        value: SubsetSummary(
            n=min(result["n"] for result in subsets),
            accuracy=summarise([result["accuracy"] for result in subsets], [result["n"] for result in subsets]),
            majority=_mean([result["majority"] for result in subsets]),
            recall=_recall(subsets),
        )
        for value, subsets in by_value.items()
    }


def _recall(seeds: SetResults) -> dict[str, Measure | None]:
    """Return the recall of each label, with an interval where the number of examples with the label is known."""
    return {
        label: summarise(
            [result.get("recall", {}).get(label) for result in seeds],
            [result["labels"].get(label) for result in seeds if "labels" in result],
        )
        for label in _names(seeds, "recall")
    }


def _names(seeds: SetResults, key: str) -> list[str]:
    return list(dict.fromkeys(name for result in seeds for name in result.get(key, {})))


def _fraction(result: Mapping[str, Any], key: str, label: str) -> float | None:
    return result[key].get(label, 0) / result["n"] if key in result else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
