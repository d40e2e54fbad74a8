from __future__ import annotations

from typing import Any

import pytest
from support.evaluate_results import results, stages

from ticketlab.report.rows import result_rows


def _means(found: dict[str, Any]) -> dict[str, float | None]:
    (row,) = result_rows(results(found))
    names = ("seconds", "search_seconds", "training_seconds", "parameters")
    return {name: None if getattr(row, name) is None else getattr(row, name).mean for name in names}


def test_a_model_from_a_search_has_the_search_s_sparsity_scores_and_seconds() -> None:
    (row,) = result_rows(results(stages()))
    assert {name: measure.mean for name, measure in row.sparsity.items()} == {"weights": 0.5}
    # seconds: 3 bias + 7 teacher + 10 finetune + 20 search; optimizer steps: 15 of the search, 5 + 8 of the two train stages
    assert _means(stages()) == {"seconds": 40.0, "search_seconds": 15.0, "training_seconds": 13.0, "parameters": 640}


def test_the_cost_of_a_model_trained_before_the_search_does_not_include_the_search() -> None:
    (row,) = result_rows(results(stages(of="finetune")))
    assert not row.sparsity
    assert _means(stages(of="finetune")) == {"seconds": 20.0, "search_seconds": None, "training_seconds": 13.0, "parameters": 900}


def test_the_parameters_of_a_retrained_ticket_are_those_of_its_own_training() -> None:
    found = stages(of="retrain")
    evaluated = found.pop("evaluate")
    found["draw"] = {"kind": "draw", "ticket": {}, "cost": {"seconds": 1.0}}
    train = {"trainable_parameters": 450, "sparsity": {"weights": 0.7}}
    found["retrain"] = {"kind": "train", "train": train, "cost": {"seconds": 9.0, "training_seconds": 6.0}}
    found["evaluate"] = evaluated
    (row,) = result_rows(results(found))
    assert row.sparsity["weights"].mean == pytest.approx(0.7)
    assert _means(found) == {"seconds": 50.0, "search_seconds": 15.0, "training_seconds": 19.0, "parameters": 450}


def test_the_training_seconds_of_a_bias_model_are_not_optimizer_seconds() -> None:
    found = stages()
    found["bias"]["cost"]["training_seconds"] = 2.0
    assert _means(found)["training_seconds"] == 13.0


@pytest.mark.parametrize(
    ("result", "searches"),
    [
        pytest.param({"objective": "contrast", "uses_task": True}, False, id="a plugin's objective on the task"),
        pytest.param({"objective": "mlm", "uses_task": False}, True, id="plain text"),
        pytest.param({"objective": "mlm"}, True, id="plain text, by an earlier version"),
        pytest.param({"objective": "task"}, False, id="the task, by an earlier version"),
        pytest.param({}, False, id="by the first version"),
    ],
)
def test_training_prepares_a_search_if_it_does_not_learn_from_the_task(result: dict[str, Any], searches: bool) -> None:
    """The stage takes 5 s of 28 s of optimizer steps, of which the search takes 15 s."""
    found = stages()
    found["finetune"]["train"] |= {"objective": "task", **result} if result else {}
    assert found["finetune"]["cost"]["training_seconds"] in (5.0, 8.0)
    moved = found["finetune"]["cost"]["training_seconds"] if searches else 0
    means = _means(found)
    assert (means["search_seconds"], means["training_seconds"]) == (15.0 + moved, 13.0 - moved)
