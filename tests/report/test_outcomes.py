from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.measured_cells import measured_cell

from ticketlab.core.errors import UsageError
from ticketlab.lab.layout import stage_folder
from ticketlab.report.cells import Cell
from ticketlab.report.metric_values import metric_values
from ticketlab.report.outcomes import has_outcomes, outcomes


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return measured_cell(
        tmp_path, {"method": "fine-tune"}, clean=["1101", "0101"], ood=["10", "11"], dev=["111", "110"], attack=["fskek", "ssfft"]
    )


@pytest.mark.parametrize(
    ("metric", "seed", "expected"),
    [
        ("clean.accuracy", 0, {"test-0": 1, "test-1": 1, "test-2": 0, "test-3": 1}),
        ("clean.accuracy", 1, {"test-0": 0, "test-1": 1, "test-2": 0, "test-3": 1}),
        ("ood.hans.accuracy", 0, {"test-0": 1, "test-1": 0}),
        ("dev.clean.accuracy", 1, {"dev-0": 1, "dev-1": 1, "dev-2": 0}),
        ("attack.pwws.aua", 0, {"test-0": 1, "test-1": 0, "test-2": 0, "test-4": 0}),
        ("attack.pwws.suc", 0, {"test-0": 0, "test-1": 1}),
        ("attack.pwws.suc", 1, {"test-0": 1, "test-1": 1, "test-2": 0, "test-3": 0}),
    ],
)
def test_outcomes_are_those_whose_mean_is_the_number(cell: Cell, metric: str, seed: int, expected: dict[str, int]) -> None:
    found = outcomes(cell, "sst2", seed, metric)
    assert found == expected
    assert sum(found.values()) / len(found) == pytest.approx(metric_values(cell, metric)["sst2"][seed].value)


@pytest.mark.parametrize(
    ("metric", "seed", "message"),
    [
        ("clean.macro_f1", 0, "not a mean over examples that are right or wrong"),
        ("clean.accuracy", 2, "no `clean.accuracy` of sst2 with seed 2"),
        ("attack.bae.aua", 0, "no `attack.bae.aua`"),
    ],
)
def test_other_numbers_have_no_outcomes(cell: Cell, metric: str, seed: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        outcomes(cell, "sst2", seed, metric)


@pytest.mark.parametrize("metric", ["clean.accuracy", "attack.pwws.aua"])
def test_outcomes_that_are_no_longer_in_the_lab_are_an_error_with_advice(cell: Cell, tmp_path: Path, metric: str) -> None:
    (value, _) = metric_values(cell, metric)["sst2"]
    shutil.rmtree(stage_folder(tmp_path, value.key))
    with pytest.raises(UsageError, match=r"fine-tune: .* not in the lab .* run the recipe again"):
        outcomes(cell, "sst2", 0, metric)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("clean.accuracy", True),
        ("dev.ood.hans.accuracy", True),
        ("attack.textattack:pwws-ren.suc", True),
        ("clean.macro_f1", False),
        ("attack.pwws.queries", False),
        ("ood.hans[heuristic=subsequence].accuracy", False),
        ("cost.training_seconds", False),
    ],
)
def test_which_metrics_have_outcomes(metric: str, expected: bool) -> None:
    assert has_outcomes(metric) is expected
