from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from support.measured_cells import compared, measured_cell

from ticketlab.core.errors import UsageError
from ticketlab.report.cells import Cell
from ticketlab.report.metric_values import check_metric, distinct_values, lower_is_better, measured_model, metric_values


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    history = [(0.5, 0.75), (0.25, 0.5)]
    return measured_cell(tmp_path, {"method": "a"}, clean=["11", "10"], attack=["ff", "fs"], history=history, seconds=(2, 4))


def with_stage(cell: Cell, name: str, **changes: Any) -> Cell:
    """Return the cell with another evaluation in every seed."""
    assert cell.results is not None
    seeds = {seed: {**stages, name: {**stages["evaluate"], **changes}} for seed, stages in cell.results["tasks"]["sst2"].items()}
    return evolve(cell, results={**cell.results, "tasks": {"sst2": seeds}})


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("clean.accuracy", [1.0, 0.5]),
        ("attack.pwws.aua", [1.0, 0.5]),
        ("cost.training_seconds", [2.0, 4.0]),  # of the model, whichever stage measured it
        ("history.retrain.dev_accuracy", [0.75, 0.5]),  # the last step
        ("clean.binary_f1", None),
    ],
)
def test_values_are_one_for_each_seed(cell: Cell, metric: str, expected: list[float] | None) -> None:
    found = metric_values(cell, metric)
    assert ([value.value for value in found["sst2"]] if found else None) == expected


def test_several_measured_models_need_a_name(cell: Cell) -> None:
    several = with_stage(cell, "early", of="finetune", at="500", clean={"split": "test", "n": 2, "accuracy": 0.25})
    with pytest.raises(UsageError, match=r"several models, `retrain`, `finetune@500`; name one"):
        metric_values(several, "clean.accuracy")
    for of, expected in (("retrain", 1.0), ("finetune@500", 0.25), ("early", 0.25), ("finetune", 0.25)):
        assert metric_values(several, "clean.accuracy", of)["sst2"][0].value == expected
    assert cell.results is not None
    assert measured_model(cell, cell.results["tasks"]["sst2"]["0"]) == ("retrain", "")


def test_several_measuring_stages_need_a_name(cell: Cell) -> None:
    several = with_stage(cell, "again", key="k")
    with pytest.raises(UsageError, match=r"several stages, `evaluate`, `again`; name one"):
        metric_values(several, "clean.accuracy")
    assert metric_values(several, "clean.accuracy", "again")["sst2"][0].key == "k"


def test_a_measurement_that_seeds_share_is_distinct_once(cell: Cell) -> None:
    shared = with_stage(cell, "evaluate", key="same")
    values = metric_values(shared, "clean.accuracy")["sst2"]
    assert [value.seed for value in values] == [0, 1]
    assert [value.seed for value in distinct_values(values)] == [0]


def test_an_unknown_metric_is_an_error_with_the_nearest(cell: Cell) -> None:
    check_metric(compared(cell), "clean.accuracy")
    with pytest.raises(UsageError, match=r"did you mean `clean.accuracy`"):
        check_metric(compared(cell), "clean.acuracy")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("clean.accuracy", False), ("attack.pwws.aua", False), ("attack.pwws.suc", True), ("dev.attack.pwws.suc", True),
        ("cost.training_seconds", True), ("history.search.loss", True), ("history.head.dev_loss", True), ("attack.pwws.queries", False),
    ],
)  # fmt: skip
def test_direction_of_metrics(metric: str, expected: bool) -> None:
    assert lower_is_better(metric) is expected
