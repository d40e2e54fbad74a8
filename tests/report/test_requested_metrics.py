"""Metrics that evaluations computed on request, in numbers, tables, selections and comparisons with a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.comparisons import cell, results, study

from ticketlab.core.errors import UsageError
from ticketlab.report.baseline_comparison import compare_with_baseline
from ticketlab.report.build_table import comparison_table
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.compared_metrics import compared_metrics
from ticketlab.report.measure_names import check_measure
from ticketlab.report.numbers_table import number_lines
from ticketlab.report.selection import select_level
from ticketlab.report.table_spec import TableSpec
from ticketlab.report.table_text import plain_table
from ticketlab.statistics.paired import T_TEST


def calibrated(level: str, test: Sequence[float], dev: Sequence[float]) -> Cell:
    """Return a cell with the calibration error of each seed on test and development examples."""
    found = results(clean=[0.8] * len(test), dev=[0.8] * len(dev), name=level)
    for stages, on_test, on_dev in zip(found["tasks"]["sst2"].values(), test, dev, strict=True):
        stages["evaluate"]["clean"]["metrics"] = {"calibration": on_test}
        stages["on-dev"]["clean"]["metrics"] = {"calibration": on_dev}
    return cell({"loss": level}, found)


@pytest.fixture
def comparison() -> Comparison:
    return study([calibrated("plain", [0.12, 0.10, 0.14], [0.1] * 3), calibrated("focal", [0.05, 0.04, 0.03], [0.2] * 3)], baseline="plain")


def test_the_numbers_are_in_files(comparison: Comparison) -> None:
    lines: list[dict[str, Any]] = [line for line in number_lines(comparison) if line["metric"] == "clean.calibration"]
    assert [line["value"] for line in lines if line.get("seed") is not None] == [0.12, 0.10, 0.14, 0.05, 0.04, 0.03]
    assert [line["value"] for line in lines if line.get("seeds") == 3] == [pytest.approx(0.12), pytest.approx(0.04)]


def test_tables_show_them_as_their_class_says_and_mark_the_lowest(comparison: Comparison) -> None:
    text = plain_table(comparison_table(comparison, TableSpec(metrics=("clean.calibration",))))
    assert "Calibration error %" in text
    marked = [line for line in text.splitlines() if "*" in line and "focal" in line]
    assert any("4.0" in line for line in marked)


def test_a_level_is_selected_by_the_lowest_development_value(comparison: Comparison) -> None:
    (found,) = select_level(comparison, "loss", "clean.calibration")
    assert (found.level, found.selected_on) == ("plain", "dev.clean.calibration")
    assert found.candidates == {"plain": pytest.approx(0.1), "focal": pytest.approx(0.2)}


def test_they_are_compared_with_the_baseline_over_seeds(comparison: Comparison) -> None:
    assert compared_metrics(comparison, TableSpec(metrics=("clean.calibration",))) == ["clean.calibration"]
    (found,) = compare_with_baseline(comparison, ["clean.calibration"])
    assert found.numbers is not None
    assert (found.numbers.test, found.numbers.seeds, found.numbers.difference) == (T_TEST, (0, 1, 2), pytest.approx(-0.08))


def test_their_names_are_known_before_anything_is_measured() -> None:
    for metric in ("clean.calibration", "ood.hans.calibration", "dev.clean.calibration"):
        check_measure(metric)
    with pytest.raises(UsageError, match="there is no measure `calibratio`; did you mean `calibration`"):
        check_measure("clean.calibratio")
    with pytest.raises(UsageError, match="there is no measure `calibration`"):
        check_measure("attack.textfooler.calibration")
