from __future__ import annotations

from unittest import mock

import pytest
from attrs import evolve
from support.comparisons import cell, results, study

from ticketlab.core.errors import UsageError
from ticketlab.report.build_table import comparison_table
from ticketlab.report.cells import Comparison
from ticketlab.report.selected_cells import select_cells
from ticketlab.report.table_text import plain_table


def comparison() -> Comparison:
    """Two pruners at two sparsities; the test split prefers another sparsity than the development split."""
    found = {
        ("imp", "0.1"): results(clean=(0.9,), dev=(0.7,), name="a"),
        ("imp", "0.3"): results(clean=(0.8,), dev=(0.75,), name="b"),
        ("random", "0.1"): results(clean=(0.6,), dev=(0.6,), name="c"),
        ("random", "0.3"): results(clean=(0.7,), dev=(0.5,), name="d"),
    }
    return study([cell({"pruner": pruner, "sparsity": sparsity}, one) for (pruner, sparsity), one in found.items()])


def test_the_best_level_is_selected_on_development_data_and_the_table_says_so() -> None:
    selected = select_cells(comparison(), "sparsity")
    text = plain_table(comparison_table(selected))
    assert [factor.name for factor in selected.factors] == ["pruner"]
    assert [(one.label, one.levels) for one in selected.cells] == [("imp, 0.3", {"pruner": "imp"}), ("random, 0.1", {"pruner": "random"})]
    assert "imp      80.0*" in text
    assert "random    60.0" in text
    assert "Note: imp, sst2: sparsity 0.3, selected among 0.1, 0.3 on development data (dev.clean.accuracy)" in text


def test_a_specification_may_name_the_factor_that_is_selected() -> None:
    selected = select_cells(study(comparison().cells, table={"rows": ["pruner", "sparsity"]}), "sparsity")
    assert comparison_table(selected).stub == ("pruner",)


@pytest.mark.parametrize(
    ("baseline", "expected", "note"),
    [
        ("random, 0.1", "random, 0.1", ""),
        ("random", "random", ""),
        ("random, 0.3", "random, 0.1", "the baseline is random, 0.1, because random, 0.3 was not selected"),
        ("0.1", "", "nothing is compared with the baseline 0.1: it is a level of sparsity"),
        ("magnitude, 0.1", "", "nothing is compared with the baseline magnitude, 0.1: it was not selected, nor was another level"),
    ],
)
def test_the_baseline_is_a_selected_cell(baseline: str, expected: str, note: str) -> None:
    cells = [*comparison().cells, cell({"pruner": "magnitude", "sparsity": "0.1"}, None)]
    selected = select_cells(evolve(study(cells), baseline=baseline), "sparsity")
    assert selected.baseline == expected
    notes = [one for one in selected.notes if "the baseline" in one]
    assert [one.startswith(note) for one in notes] == ([True] if note else [])
    comparison_table(selected)


@pytest.mark.parametrize(
    ("factor", "selected_on", "message"),
    [
        ("sparsty", "", "the comparison has no factor `sparsty`; did you mean `sparsity`?"),
        ("sparsity", "clean.accuracy", "`clean.accuracy` is not measured on development data"),
    ],
)
def test_the_test_split_does_not_select(factor: str, selected_on: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        select_cells(comparison(), factor, selected_on=selected_on)
    assert message in str(caught.value)


def test_methods_without_any_number_are_named_with_the_reason() -> None:
    found = comparison()
    failed = [evolve(one, results=None, error="out of memory") for one in found.cells if one.levels["pruner"] == "random"]
    selected = select_cells(study([*found.cells[:2], *failed]), "sparsity")
    assert [one.levels for one in selected.cells] == [{"pruner": "imp"}]
    assert "random: sparsity: nothing selected, because out of memory" in selected.notes


def test_a_level_is_selected_by_the_training_of_the_task_if_other_data_was_evaluated() -> None:
    cells = []
    for sparsity, clean, dev in (("0.1", 0.9, 0.7), ("0.3", 0.8, 0.75)):
        found = results(clean=(clean,), name=sparsity)
        stages = found["tasks"]["sst2"]["0"]
        stages["evaluate"]["task"] = "imdb"
        stages["train"]["train"]["history"] = [{"step": 10, "dev_accuracy": dev}]
        cells.append(cell({"sparsity": sparsity}, found))
    with mock.patch("ticketlab.report.dev_score.stage_settings", return_value={}):
        selected = select_cells(study(cells), "sparsity")
    assert [(one.label, list(one.results or {})) for one in selected.cells] == [("0.3", list(found))]
    assert "80.0" in plain_table(comparison_table(selected))
