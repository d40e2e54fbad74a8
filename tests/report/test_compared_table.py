from __future__ import annotations

import pytest
from support.comparisons import cell, results, study

from ticketlab.core.errors import UsageError
from ticketlab.report.cells import Comparison
from ticketlab.report.compared_table import compared_table


def comparison(baseline: str) -> Comparison:
    found = {"base": results(clean=(0.9,), seconds=(8,), name="a"), "new": results(clean=(0.8,), seconds=(4,), name="b")}
    return study([cell({"method": name}, one) for name, one in found.items()], baseline=baseline)


def test_a_baseline_adds_speed_ups_and_says_what_is_not_compared() -> None:
    table = compared_table(comparison("base"))
    assert [column.metric for column in table.columns] == ["clean.accuracy", "cost.training_seconds", "speed_up"]
    ratios = [row.entries[2].statistics for row in table.rows]
    assert [ratio and ratio.mean for ratio in ratios] == [1, pytest.approx(2)]
    assert any(text.startswith("1 number not compared with the baseline: ") for text in table.legend)


def test_without_a_baseline_nothing_is_compared() -> None:
    table = compared_table(comparison(""))
    assert [column.metric for column in table.columns] == ["clean.accuracy", "cost.training_seconds"]
    assert not any("compared" in text for text in table.legend)


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(UsageError, match="no cell or level is called `bas`, which was named as the baseline; did you mean `base`"):
        compared_table(comparison("bas"))


def test_several_measured_models_are_not_compared() -> None:
    made = comparison("base")
    assert made.cells[1].results is not None
    stages = made.cells[1].results["tasks"]["sst2"]["0"]
    stages["early"] = {**stages["evaluate"], "at": "500", "key": "early"}
    (note,) = compared_table(made).notes
    assert note.startswith("no comparison with the baseline: new")
