"""Predictions against the labels of a set, which may be other labels than those that the model knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ticketlab.tasks.base import Example, TaskData

Meaning = tuple[tuple[int, ...], ...]
"""For each label of a set, the indices of the task's labels that mean it."""


def judge(predicted: Sequence[int], examples: Sequence[Example], data: TaskData, meaning: Meaning) -> dict[str, Any]:
    """Count predictions, indices of the task's labels, against the labels of the examples of ``data``, by the task's labels that mean them.

    Returns fractions, None where there is nothing to divide by: ``accuracy``; ``f1``, averaged over the labels that were seen or predicted;
    ``weighted_f1``, each label's F1 weighted by its examples; ``majority`` and ``majority_f1``, the accuracy and the weighted F1 of always
    saying the commonest label; ``recall`` by label. And counts: ``n``, ``correct``, ``outside`` (predictions that mean no label of the
    set, which are wrong), ``labels`` and ``predicted`` by label. ``meaning`` names the task's labels by number for each label.
    ``subsets`` has, for each column and value, ``n``, ``correct``, ``accuracy``, ``majority`` and ``recall``.
    """
    label_of = {index: label for label, indices in enumerate(meaning) for index in indices}
    said = [label_of.get(index) for index in predicted]
    truth = [example.label for example in examples]
    outcomes = list(zip(truth, said, strict=True))
    names = data.label_names
    sizes, guesses = Counter(truth), Counter(said)
    f1 = {label: _f1(outcomes, label) for label in range(len(names)) if sizes[label] or guesses[label]}
    commonest = max(sizes.values(), default=0)
    return {
        **_part(outcomes, names),
        "f1": _ratio(sum(f1.values()), len(f1)) if outcomes else None,
        "weighted_f1": _ratio(sum(f1[label] * size for label, size in sizes.items()), len(outcomes)),
        "majority_f1": _ratio(commonest * 2 * commonest, len(outcomes) * (len(outcomes) + commonest)),
        "outside": guesses[None],
        "labels": {name: sizes[label] for label, name in enumerate(names)},
        "predicted": {name: guesses[label] for label, name in enumerate(names)},
        "meaning": {name: list(indices) for name, indices in zip(names, meaning, strict=True)},
        "subsets": {column: _subsets(outcomes, examples, place, names) for place, column in enumerate(data.subsets)},
    }


Outcomes = Sequence[tuple[int, int | None]]
"""The right label and the predicted one of each example; None means no label of the set."""


def _part(outcomes: Outcomes, names: Sequence[str]) -> dict[str, Any]:
    sizes = Counter(truth for truth, _ in outcomes)
    right = Counter(truth for truth, said in outcomes if truth == said)
    return {
        "accuracy": _ratio(right.total(), len(outcomes)),
        "n": len(outcomes),
        "correct": right.total(),
        "majority": _ratio(max(sizes.values(), default=0), len(outcomes)),
        "recall": {name: _ratio(right[label], sizes[label]) for label, name in enumerate(names)},
    }


def _subsets(outcomes: Outcomes, examples: Sequence[Example], place: int, names: Sequence[str]) -> dict[str, Any]:
    parts: dict[str, list[tuple[int, int | None]]] = {}
    for outcome, example in zip(outcomes, examples, strict=True):
        parts.setdefault(example.subsets[place], []).append(outcome)
    return {value: _part(parts[value], names) for value in sorted(parts)}


def _f1(outcomes: Outcomes, label: int) -> float:
    both = sum(truth == said == label for truth, said in outcomes)
    either = sum((truth == label) + (said == label) for truth, said in outcomes)
    return 2 * both / either if either else 0.0


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
