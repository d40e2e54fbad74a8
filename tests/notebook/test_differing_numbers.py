"""The numbers of two runs are compared model by model."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_lab import data_set, measured

from ticketlab.notebook.differing_numbers import differing_numbers


def results(recipe: str, stages: dict[str, dict[str, Any]]) -> dict[str, Any]:
    data = {"sst2": {**data_set("same"), "classes": {"train": {"a": 5, "b": 4}}}}
    return {"recipe": recipe, "model": "bert", "scale": "small", "seeds": [0], "data": data, "tasks": {"sst2": {"0": stages}}}


def test_the_only_models_of_two_runs_are_compared_whatever_their_stages_are_called() -> None:
    one, other = measured("a", 0.5), measured("b", 0.75)
    other["evaluate"]["of"] = "retrain"
    other["retrain"] = other.pop("finetune")
    (accuracy,) = [
        found for found in differing_numbers(results("fine-tune", one), results("ticket", other)) if found.metric == "clean.accuracy"
    ]
    assert (accuracy.model, accuracy.difference) == ("finetune / retrain", pytest.approx(0.25))


def test_stages_that_measure_one_model_are_compared_one_by_one() -> None:
    runs = []
    for name, accuracy, again in (("a", 0.5, 0.25), ("b", 0.75, 0.25)):
        stages = measured(name, accuracy)
        stages["again"] = {**stages["evaluate"], **measured(f"{name}2", again)["evaluate"]}
        runs.append(results(name, stages))
    found = [number for number in differing_numbers(*runs) if number.metric == "clean.accuracy"]
    assert [(number.model, number.difference) for number in found] == [("finetune (evaluate)", pytest.approx(0.25))]


def test_counts_of_data_belong_to_no_model() -> None:
    one, other = results("a", measured("a", 0.5)), results("b", measured("a", 0.5))
    other["data"]["sst2"]["classes"]["train"] = {"a": 6, "b": 4}
    found = {number.metric: number for number in differing_numbers(one, other)}
    assert found.keys() == {"train.clean.examples.a", "train.clean.examples.b"}  # shares of the examples
    assert {number.model for number in found.values()} == {""}
    assert found["train.clean.examples.a"].difference == pytest.approx(6 / 10 - 5 / 9)
