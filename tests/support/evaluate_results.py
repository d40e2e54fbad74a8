"""Handwritten results of ``evaluate`` on a two-class challenge set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

YES, NO = "entailment", "non-entailment"


def part(right: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the numbers of a subset with ``right`` correct predictions and ``sizes`` examples, each by label."""
    n, correct = sum(sizes.values()), sum(right.values())
    return {
        "accuracy": correct / n if n else None,
        "n": n,
        "correct": correct,
        "majority": max(sizes.values()) / n if n else None,
        "recall": {label: right[label] / size if size else None for label, size in sizes.items()},
    }


def judged(right: Mapping[str, int], sizes: Mapping[str, int], outside: int = 0, **more: Any) -> dict[str, Any]:
    """Return the result of ``evaluate`` on a set. Wrong predictions are the first label; ``more`` has more measures and baselines."""
    n = sum(sizes.values())
    first = next(iter(sizes))
    predicted = dict(right) | {first: right[first] + n - sum(right.values()) - outside}
    recall = [right[label] / size for label, size in sizes.items() if size]
    result = {**part(right, sizes), "balanced_accuracy": sum(recall) / len(recall), "outside": outside}
    result |= {"majority_balanced_accuracy": 1 / len(recall), "weighted_f1": None, "majority_weighted_f1": None}
    return {**result, "labels": dict(sizes), "predicted": predicted, "meaning": {}, "subsets": {}, "truncated": 0, "dropped": {}, **more}


def hans(yes: int, no: int, *, columns: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return the result on 80 examples, 40 of each label, with ``yes`` and ``no`` correct.

    ``columns`` adds subset columns with this number of values, 2 examples each.
    """
    one = part({YES: 2, NO: 0}, {YES: 2, NO: 0})
    subsets: dict[str, Any] = {column: {f"{column} {number}": one for number in range(count)} for column, count in (columns or {}).items()}
    subsets["heuristic"] = {
        "lexical_overlap": part({YES: yes, NO: 0}, {YES: 40, NO: 20}),
        "constituent": part({YES: 0, NO: no}, {YES: 0, NO: 20}),
    }
    return judged({YES: yes, NO: no}, {YES: 40, NO: 40}, outside=4, weighted_f1=0.6, majority_weighted_f1=1 / 3, subsets=subsets)


def clean(right: int) -> dict[str, Any]:
    """Return the result on 100 examples of the task's three labels (50, 30 and 20), with ``right`` of the first label correct."""
    sizes = {YES: 50, "neutral": 30, "contradiction": 20}
    return judged({YES: right, "neutral": 30, "contradiction": 20}, sizes, weighted_f1=right / 50, majority_weighted_f1=1 / 3)


def stages(*, right: int = 40, ood: Mapping[str, Any] | None = None, of: str = "search") -> dict[str, Any]:
    """Return the stages of a run whose search yields a model."""
    evaluated = {"kind": "evaluate", "of": of, "clean": clean(right), "cost": {"seconds": 5.0, "prediction_seconds": 4.0}}
    if ood is not None:
        evaluated["ood"] = dict(ood)
    return {
        "bias": {"kind": "bias", "bias": {"rows": 10}, "cost": {"seconds": 3.0}},
        "teacher": {"kind": "train", "train": {"trainable_parameters": 900}, "cost": {"seconds": 7.0, "training_seconds": 5.0}},
        "finetune": {"kind": "train", "train": {"trainable_parameters": 900}, "cost": {"seconds": 10.0, "training_seconds": 8.0}},
        "search": {
            "kind": "search",
            "search": {"trainable_parameters": 640, "sparsity": {"weights": 0.5}},
            "cost": {"seconds": 20.0, "training_seconds": 15.0},
        },
        "evaluate": evaluated,
    }


def results(*seeds: Mapping[str, Any], task: str = "mnli", recipe: str = "srnet") -> dict[str, Any]:
    """Return the content of a ``results.json`` with the stages of each seed."""
    head = {"schema": 1, "recipe": recipe, "scale": "full", "model": "demo", "seeds": list(range(len(seeds)))}
    return {**head, "tasks": {task: {str(seed): dict(of_seed) for seed, of_seed in enumerate(seeds)}}}
