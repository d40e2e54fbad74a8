"""Stored results: impossible numbers are reported in one line when a file is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.lab.lab import Lab
from ticketlab.lab.results import find_impossible, read_results

GOOD: dict[str, Any] = {
    "kind": "evaluate",
    "key": "ab12",
    "cost": {"seconds": 1.0},
    # labels, subsets, sets and groups may be called like a measure
    "clean": {
        "accuracy": 1,
        "n": 4,
        "correct": 4,
        "matthews": -1.0,
        "recall": {"n": None, "correct": 0.5},
        "labels": {"accuracy": 4, "aua": 0},
    },
    "ood": {"accuracy": {"accuracy": 0.5, "n": 2, "subsets": {"recall": {"aua": {"accuracy": 0.0, "recall": {"x": 1.0}}}}}},
    "attacks": {"seconds": {"aua": 0.25, "aua_of": {"count": 1, "total": 4, "interval": [0.1, 0.9]}, "queries": 31.5, "similarity": -0.1}},
    "train": {
        "history": [{"step": 3, "loss": 12.5, "dev_accuracy": 0.5, "dev_matthews": -0.2}],
        "sparsity": {"weights": 0.3},
        "loss": None,
    },
    "search": {"history": [{"sparsity": 0.1, "loss": -3.0}]},
    "ticket": {"groups": {"heads": {"asked": None, "achieved": 1 / 6, "units": 12, "kept": 10}}},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(GOOD))
    *way, last = path.split(".")
    place: Any = found
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    place[last] = value
    return found


def test_a_possible_result_is_read() -> None:
    assert find_impossible(GOOD) is None


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("clean.accuracy", 1.7, "clean.accuracy is 1.7, and must be between 0 and 1"),
        ("clean.recall.n", -0.5, "clean.recall.n is -0.5"),
        ("clean.labels.aua", -1, "clean.labels.aua is -1, and cannot be negative"),
        ("clean.correct", 5, "clean: correct is 5 and n is 4"),
        ("clean.matthews", 1.5, "clean.matthews is 1.5, and must be between -1 and 1"),
        ("ood.accuracy.subsets.recall.aua.accuracy", 2, "ood.accuracy.subsets.recall.aua.accuracy is 2"),
        ("attacks.seconds.aua_of.count", 9, "attacks.seconds.aua_of: count is 9 and total is 4"),
        ("attacks.seconds.queries", -5, "attacks.seconds.queries is -5"),
        ("train.history.0.dev_accuracy", 3, "train.history.0.dev_accuracy is 3"),
        ("train.sparsity.weights", 1.2, "train.sparsity.weights is 1.2"),
        ("ticket.groups.heads.achieved", -0.1, "ticket.groups.heads.achieved is -0.1"),
    ],
)
def test_an_impossible_number_is_reported_with_its_path(path: str, value: Any, problem: str, tmp_path: Path) -> None:
    wrong = changed(path, value)
    stage = Lab(tmp_path).stage("ab12")
    stage.mkdir(parents=True)
    (stage / "result.json").write_text(json.dumps(wrong), encoding="utf-8")
    with pytest.raises(TicketlabError) as caught:
        Lab(tmp_path).result("ab12")
    assert problem in str(caught.value)
    assert str(caught.value).endswith("delete its folder, and the stage is computed again")
    (tmp_path / "results.json").write_text(json.dumps({"tasks": {"sst2": {"0": {"evaluate": wrong}}}}), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_results(tmp_path / "results.json")
    assert f"results.json: damaged: sst2, seed 0, evaluate: {problem}" in str(caught.value)


@pytest.mark.parametrize("value", ["NaN", "-Infinity"])
def test_a_stored_result_with_an_invalid_number_is_damaged(value: str, tmp_path: Path) -> None:
    stage = Lab(tmp_path).stage("ab12")
    stage.mkdir(parents=True)
    (stage / "result.json").write_text(f'{{"kind": "train", "cost": {{"seconds": {value}}}}}', encoding="utf-8")
    with pytest.raises(TicketlabError, match=r"result\.json is damaged; delete .*, and the stage is computed again"):
        Lab(tmp_path).result("ab12")


@pytest.mark.parametrize("text", ["", "[]", '{"tasks": 3}', '{"tasks": {"a": {"0": {"b": {"kind": "draw"}}}}}', "[" * 100_000])
def test_a_file_without_results_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"results\.json: not the results of a run, or damaged"):
        read_results(tmp_path / "results.json")
