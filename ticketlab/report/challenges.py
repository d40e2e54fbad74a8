"""What a model says on a set of examples - a challenge set, or the task's own split - summarised over the seeds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.report.statistics import Measure, summarise

Found = Sequence[Mapping[str, Any]]
MEASURES = ("balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "matthews")
"""What there is beside the accuracy (:mod:`ticketlab.tasks.metrics`), in the order of tables."""


@frozen
class SubsetCells:
    """The examples with one value in a column. ``recall`` of a label that they lack is None."""

    n: int
    accuracy: Measure | None
    majority: float | None
    recall: Mapping[str, Measure | None]


@frozen
class ChallengeCells:
    """One set. All numbers but ``n`` are fractions, and the Matthews correlation among ``measures`` is one from -1 to 1.

    ``measures`` and ``baselines`` go by :data:`MEASURES`: what the model scores, and what always saying the commonest label does, whose
    accuracy is ``majority``; ``shown`` are those that tables show. ``outside`` is the share of predictions that mean no label of the set;
    ``labels`` and ``predicted`` are each label's share of the examples and of the predictions. ``subsets`` go by column and value.
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
    subsets: Mapping[str, Mapping[str, SubsetCells]]


def cells(name: str, found: Found, shown: Sequence[str] = ()) -> ChallengeCells:
    """Return the numbers of a set from those that ``evaluate`` left, one a seed, at least one. Keys may be missing."""
    asked = [one for one in found if one["n"]]
    predicted = {
        label: summarise([_share(one, "predicted", label) for one in asked], [one["n"] for one in asked])
        for label in _names(found, "predicted")
    }
    return ChallengeCells(
        name=name,
        split=found[0].get("split", "test"),
        n=min(one["n"] for one in found),
        accuracy=summarise([one["accuracy"] for one in found], [one["n"] for one in found]),
        measures={measure: summarise([one.get(measure) for one in found]) for measure in MEASURES},
        majority=_mean([one.get("majority") for one in found]),
        baselines={measure: _mean([one.get(f"majority_{measure}") for one in found]) for measure in MEASURES},
        positive_label=found[0].get("positive_label"),
        shown=tuple(shown),
        outside=summarise([one["outside"] / one["n"] for one in asked if "outside" in one], [one["n"] for one in asked]),
        labels={
            label: share
            for label in _names(found, "labels")
            if (share := _mean([_share(one, "labels", label) for one in asked])) is not None
        },
        predicted={label: measure for label, measure in predicted.items() if measure is not None},
        recall=_recall(found),
        subsets={column: _subsets([one.get("subsets", {}).get(column, {}) for one in found]) for column in _names(found, "subsets")},
    )


def _subsets(found: Found) -> dict[str, SubsetCells]:
    by_value = {value: [one[value] for one in found if value in one] for value in dict.fromkeys(value for one in found for value in one)}
    return {
        value: SubsetCells(
            n=min(one["n"] for one in seeds),
            accuracy=summarise([one["accuracy"] for one in seeds], [one["n"] for one in seeds]),
            majority=_mean([one["majority"] for one in seeds]),
            recall=_recall(seeds),
        )
        for value, seeds in by_value.items()
    }


def _recall(found: Found) -> dict[str, Measure | None]:
    """Return the recall of each label, with an interval where it is known how many examples have the label."""
    return {
        label: summarise(
            [one.get("recall", {}).get(label) for one in found],
            [one["labels"].get(label) for one in found if "labels" in one],
        )
        for label in _names(found, "recall")
    }


def _names(found: Found, key: str) -> list[str]:
    return list(dict.fromkeys(name for one in found for name in one.get(key, {})))


def _share(one: Mapping[str, Any], key: str, label: str) -> float | None:
    return one[key].get(label, 0) / one["n"] if key in one else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
