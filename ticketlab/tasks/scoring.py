"""Scores predictions on a data set whose labels may differ from those of the model's task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.metrics import Outcomes, majority_baseline, measures, ratio, recall_by_label

LabelMapping = tuple[tuple[int, ...], ...]
"""For each label of a data set, the indices of the task's labels that map to it."""


def to_set_labels(predicted: Sequence[int], mapping: LabelMapping) -> list[int | None]:
    """Convert predicted task labels to labels of the data set; None where a prediction maps to none of them."""
    label_of = {index: label for label, indices in enumerate(mapping) for index in indices}
    return [label_of.get(index) for index in predicted]


def score_predictions(predicted: Sequence[int], examples: Sequence[Example], data: TaskData, mapping: LabelMapping) -> dict[str, Any]:
    """Score predicted task labels against ``examples`` of ``data``.

    The result contains the :func:`~ticketlab.tasks.metrics.measures`; ``positive_label``, if the set declares one for ``binary_f1``;
    ``majority``, the accuracy of always predicting the most common label, and its other metrics as ``majority_METRIC``; and ``recall`` by
    label, None for a label without examples. It also contains the counts ``n``, ``correct``, ``outside`` (predictions that map to no label
    of the set and count as wrong), and ``labels`` and ``predicted`` by label. ``meaning`` lists the indices of the task's labels for each
    label of the set. ``subsets`` contains, for each column and value, ``n``, ``correct``, ``accuracy``, ``majority`` and ``recall``.
    """
    outcomes = list(zip([example.label for example in examples], to_set_labels(predicted, mapping), strict=True))
    names = data.label_names
    sizes, predictions = Counter(label for label, _ in outcomes), Counter(prediction for _, prediction in outcomes)
    baseline = majority_baseline(outcomes, len(names), data.positive_index)
    return {
        **_accuracy_and_recall(outcomes, names),
        **measures(outcomes, len(names), data.positive_index),
        **({} if data.positive_label is None else {"positive_label": data.positive_label}),
        **{f"majority_{name}": value for name, value in baseline.items() if name != "accuracy"},
        "outside": predictions[None],
        "labels": {name: sizes[label] for label, name in enumerate(names)},
        "predicted": {name: predictions[label] for label, name in enumerate(names)},
        "meaning": {name: list(indices) for name, indices in zip(names, mapping, strict=True)},
        "subsets": {column: _by_subset(outcomes, examples, place, names) for place, column in enumerate(data.subsets)},
    }


def _accuracy_and_recall(outcomes: Outcomes, names: Sequence[str]) -> dict[str, Any]:
    sizes = Counter(label for label, _ in outcomes)
    correct = sum(label == prediction for label, prediction in outcomes)
    return {
        "accuracy": ratio(correct, len(outcomes)),
        "n": len(outcomes),
        "correct": correct,
        "majority": ratio(max(sizes.values(), default=0), len(outcomes)),
        "recall": dict(zip(names, recall_by_label(outcomes, len(names)), strict=True)),
    }


def _by_subset(outcomes: Outcomes, examples: Sequence[Example], place: int, names: Sequence[str]) -> dict[str, Any]:
    subsets: dict[str, list[tuple[int, int | None]]] = {}
    for outcome, example in zip(outcomes, examples, strict=True):
        subsets.setdefault(example.subsets[place], []).append(outcome)
    return {value: _accuracy_and_recall(subsets[value], names) for value in sorted(subsets)}
