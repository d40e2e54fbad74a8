"""Predictions against the labels of a set, which may be other labels than those that the model knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.metrics import Outcomes, majority, measures, ratio

Meaning = tuple[tuple[int, ...], ...]
"""For each label of a set, the indices of the task's labels that mean it."""


def meant(predicted: Sequence[int], meaning: Meaning) -> list[int | None]:
    """Return predictions, indices of the task's labels, as indices of the labels of a set; None where a prediction means none of them."""
    label_of = {index: label for label, indices in enumerate(meaning) for index in indices}
    return [label_of.get(index) for index in predicted]


def judge(predicted: Sequence[int], examples: Sequence[Example], data: TaskData, meaning: Meaning) -> dict[str, Any]:
    """Count predictions, indices of the task's labels, against the labels of the examples of ``data``, by the task's labels that mean them.

    Returns the :func:`~ticketlab.tasks.metrics.measures`, and where the set declares it ``positive_label``, whose F1 ``binary_f1`` is;
    ``majority``, the accuracy of always saying the commonest label, and under ``majority_MEASURE`` what else that scores; ``recall`` by
    label, None without examples. And counts: ``n``, ``correct``, ``outside`` (predictions that mean no label of the set, which are wrong),
    ``labels`` and ``predicted`` by label. ``meaning`` names the task's labels by number for each label. ``subsets`` has, for each column
    and value, ``n``, ``correct``, ``accuracy``, ``majority`` and ``recall``.
    """
    outcomes = list(zip([example.label for example in examples], meant(predicted, meaning), strict=True))
    names = data.label_names
    sizes, guesses = Counter(truth for truth, _ in outcomes), Counter(said for _, said in outcomes)
    baseline = majority(outcomes, len(names), data.positive_index)
    return {
        **_part(outcomes, names),
        **measures(outcomes, len(names), data.positive_index),
        **({} if data.positive_label is None else {"positive_label": data.positive_label}),
        **{f"majority_{name}": value for name, value in baseline.items() if name != "accuracy"},
        "outside": guesses[None],
        "labels": {name: sizes[label] for label, name in enumerate(names)},
        "predicted": {name: guesses[label] for label, name in enumerate(names)},
        "meaning": {name: list(indices) for name, indices in zip(names, meaning, strict=True)},
        "subsets": {column: _subsets(outcomes, examples, place, names) for place, column in enumerate(data.subsets)},
    }


def _part(outcomes: Outcomes, names: Sequence[str]) -> dict[str, Any]:
    sizes = Counter(truth for truth, _ in outcomes)
    right = Counter(truth for truth, said in outcomes if truth == said)
    return {
        "accuracy": ratio(right.total(), len(outcomes)),
        "n": len(outcomes),
        "correct": right.total(),
        "majority": ratio(max(sizes.values(), default=0), len(outcomes)),
        "recall": {name: ratio(right[label], sizes[label]) for label, name in enumerate(names)},
    }


def _subsets(outcomes: Outcomes, examples: Sequence[Example], place: int, names: Sequence[str]) -> dict[str, Any]:
    parts: dict[str, list[tuple[int, int | None]]] = {}
    for outcome, example in zip(outcomes, examples, strict=True):
        parts.setdefault(example.subsets[place], []).append(outcome)
    return {value: _part(parts[value], names) for value in sorted(parts)}
