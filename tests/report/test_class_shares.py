"""The fraction of each label in data on which no model was evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ticketlab.report.cells import Cell
from ticketlab.report.numbers import numbers

DATA = {
    "nli": {"fingerprint": "f", "classes": {"train": {"yes": 30, "no": 10}, "dev": {}, "test": {"yes": 1, "no": 3}}},
    "hans": {"fingerprint": "g", "classes": {"train": {"yes": 2, "no": 2}, "test": {"yes": 4, "no": 1}}},
}


def shares(stages: dict[str, Any]) -> dict[str, tuple[float, int | None]]:
    tasks = {"nli": {"0": stages, "1": stages}}
    results = {"recipe": "r", "model": "m", "scale": "full", "ood": ["hans"], "data": DATA, "tasks": tasks}
    found = [number for number in numbers(Cell("c", {}, Path("run"), results)) if number.stage == "data"]
    assert {(number.task, number.seed) for number in found} == {("nli", 0)}, "once, not for each seed"
    return {number.metric: (number.value, number.n) for number in found}


def test_the_classes_of_training_and_evaluation_data_are_numbers() -> None:
    assert shares({"bias": {"kind": "bias", "key": "k"}}) == {
        "train.clean.examples.yes": (0.75, 40),
        "train.clean.examples.no": (0.25, 40),
        "clean.examples.yes": (0.25, 4),
        "clean.examples.no": (0.75, 4),
        "train.ood.hans.examples.yes": (0.5, 4),
        "train.ood.hans.examples.no": (0.5, 4),
        "ood.hans.examples.yes": (0.8, 5),
        "ood.hans.examples.no": (0.2, 5),
    }


def test_an_evaluation_gives_the_classes_of_its_own_examples() -> None:
    measured = {"n": 4, "split": "test", "labels": {"yes": 1, "no": 3}}
    evaluate = {"kind": "evaluate", "key": "k", "of": "model", "clean": measured, "ood": {"hans": {**measured, "n": 5}}}
    assert {name.partition(".")[0] for name in shares({"evaluate": evaluate})} == {"train"}
