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
    label, whose accuracy is ``majority``. Tables show the measures in ``shown``. ``outside`` is the fraction of predictions that mean no
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
    nonempty = [one for one in seeds if one["n"]]
    predicted = {
        label: summarise([_fraction(one, "predicted", label) for one in nonempty], [one["n"] for one in nonempty])
        for label in _names(seeds, "predicted")
    }
    return SetSummary(
        name=name,
        split=seeds[0].get("split", "test"),
        n=min(one["n"] for one in seeds),
        accuracy=summarise([one["accuracy"] for one in seeds], [one["n"] for one in seeds]),
        measures={measure: summarise([one.get(measure) for one in seeds]) for measure in MEASURES},
        majority=_mean([one.get("majority") for one in seeds]),
        baselines={measure: _mean([one.get(f"majority_{measure}") for one in seeds]) for measure in MEASURES},
        positive_label=seeds[0].get("positive_label"),
        shown=tuple(shown),
        outside=summarise([one["outside"] / one["n"] for one in nonempty if "outside" in one], [one["n"] for one in nonempty]),
        labels={
            label: fraction
            for label in _names(seeds, "labels")
            if (fraction := _mean([_fraction(one, "labels", label) for one in nonempty])) is not None
        },
        predicted={label: measure for label, measure in predicted.items() if measure is not None},
        recall=_recall(seeds),
        subsets={column: _subsets([one.get("subsets", {}).get(column, {}) for one in seeds]) for column in _names(seeds, "subsets")},
    )


def _subsets(seeds: SetResults) -> dict[str, SubsetSummary]:
    by_value = {value: [one[value] for one in seeds if value in one] for value in dict.fromkeys(value for one in seeds for value in one)}
    return {
        value: SubsetSummary(
            n=min(one["n"] for one in subsets),
            accuracy=summarise([one["accuracy"] for one in subsets], [one["n"] for one in subsets]),
            majority=_mean([one["majority"] for one in subsets]),
            recall=_recall(subsets),
        )
        for value, subsets in by_value.items()
    }


def _recall(seeds: SetResults) -> dict[str, Measure | None]:
    """Return the recall of each label, with an interval where the number of examples with the label is known."""
    return {
        label: summarise(
            [one.get("recall", {}).get(label) for one in seeds],
            [one["labels"].get(label) for one in seeds if "labels" in one],
        )
        for label in _names(seeds, "recall")
    }


def _names(seeds: SetResults, key: str) -> list[str]:
    return list(dict.fromkeys(name for one in seeds for name in one.get(key, {})))


def _fraction(one: Mapping[str, Any], key: str, label: str) -> float | None:
    return one[key].get(label, 0) / one["n"] if key in one else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
