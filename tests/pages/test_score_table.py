from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from support.comparisons import cell, results, study, with_predictions
from support.small_page import small_study

from ticketlab.pages.cell_names import CellNames
from ticketlab.pages.data_table import PageTable
from ticketlab.pages.score_table import score_table
from ticketlab.pages.summary import problems
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.numbers import all_numbers
from ticketlab.report.summaries import summarise_numbers


def table_of(comparison: Comparison) -> PageTable:
    return score_table(comparison, summarise_numbers(all_numbers(comparison)), CellNames(comparison))


def column(table: PageTable, head: str, group: str = "") -> list[str]:
    (index,) = [number for number, one in enumerate(table.columns) if (one.head, one.group) == (head, group)]
    return [row.cells[index].text for row in table.rows]


def test_there_is_a_row_for_each_cell_and_a_column_for_each_factor(tmp_path: Path) -> None:
    table = table_of(small_study(tmp_path))
    assert column(table, "pruner") == ["random"] * 3 + ["imp"] * 3
    assert column(table, "sparsity") == ["0.1", "0.3", "0.5"] * 2
    assert [row.unfinished for row in table.rows] == [False] * 5 + [True]
    assert [row.cells[0].below for row in table.rows] == ["", "same as random, 0.1", "", "", "", "failed"]
    assert [(one.head, one.group) for one in table.columns[2:]][:2] == [("Acc %", "Clean"), ("Acc %", "hans")]


def test_numbers_have_deviation_interval_seeds_and_keys(tmp_path: Path) -> None:
    cell = table_of(small_study(tmp_path)).rows[0].cells[2]
    # 50 % and 25 %: mean 37.5, deviation 12.5 * sqrt 2; Student's interval of two seeds is 37.5 ± 12.706 * 12.5, beyond what is possible
    assert (cell.text, cell.spread, cell.below) == ("37.5", " ± 17.7", "(0.0 to 100.0)")
    assert cell.title.startswith("clean.accuracy; seed 0: 50.0 (stage ")
    assert cell.title.endswith("; 40 examples")
    assert cell.sort == pytest.approx(0.375)


def test_one_seed_has_no_deviation_and_the_interval_over_its_examples() -> None:
    comparison = study([Cell("a", {"method": "a"}, Path("a"), results(clean=[0.5]))])
    cell = table_of(comparison).rows[0].cells[1]
    assert (cell.text, cell.spread) == ("50.0", "")
    assert cell.below == "(45.1 to 54.9)"  # Wilson's for 200 of 400: (0.5 + z²/800 ± z sqrt(0.25/400 + z²/640000)) / (1 + z²/400)


@pytest.mark.parametrize(
    ("values", "best"),
    [((0.5, 0.6, 0.4), (False, True, False)), ((0.5, 0.50001, 0.4), (True, True, False)), ((0.5, 0.50001, 0.5), (False, False, False))],
    ids=["one", "two that look equal", "all look equal"],
)
def test_the_best_value_of_a_column_is_marked(values: tuple[float, ...], best: tuple[bool, ...]) -> None:
    cells = [Cell(name, {"method": name}, Path(name), results(clean=[value], name=name)) for name, value in zip("abc", values, strict=True)]
    assert tuple(row.cells[1].best for row in table_of(study(cells)).rows) == best


def test_attacks_on_different_samples_are_not_compared() -> None:
    found = [results(aua={"pwws": (aua,)}) for aua in (0.1, 0.2, 0.3)]
    found[2]["tasks"]["sst2"]["0"]["attack"]["sample"] |= {"size": 2, "seed": 4}
    table = table_of(study([cell({"n": str(number)}, one) for number, one in enumerate(found)]))
    assert not any(one.best for row in table.rows for one in row.cells)
    assert "attacked 2 examples (sample seed 4); others of this metric are on other samples, and are not compared" in table.remarks


def test_a_model_that_predicts_one_class_is_not_the_best_under_attack() -> None:
    found = {name: results(clean=[0.5], aua={"pwws": [aua]}, name=name) for name, aua in (("a", 0.6), ("b", 0.1), ("c", 0.3))}
    cells = [Cell(name, {"method": name}, Path(name), with_predictions(one, "yes" if name == "a" else "")) for name, one in found.items()]
    table = table_of(study(cells))
    assert [row.cells[2].best for row in table.rows] == [False, False, True]
    assert column(table, "Remarks") == ["1", "", ""]
    assert table.remarks == ("predicts `yes` for every example: nothing to fool",)
    (first, _) = problems(study(cells), summarise_numbers(all_numbers(study(cells))), CellNames(study(cells)))
    assert first.text.startswith("the model predicts `yes` for every example: nothing to fool")
    assert [cell.label for cell in first.cells] == ["a"]


def test_tasks_and_models_have_columns_where_they_differ() -> None:
    one, other = results(clean=[0.5], name="one"), results("sick", clean=[0.9], name="other")
    both = {**one, "tasks": {**one["tasks"], **other["tasks"]}}
    table = table_of(study([Cell("a", {"method": "a"}, Path("a"), both), Cell("b", {"method": "b"}, Path("b"), one)]))
    assert column(table, "Task") == ["sst2", "sick", "sst2"]
    assert "Model" not in [one.head for one in table.columns]


def test_a_study_that_names_its_metrics_has_no_others(tmp_path: Path) -> None:
    table = table_of(evolve(small_study(tmp_path), table={"metrics": ["attack.*.aua"]}))
    assert [(one.head, one.group) for one in table.columns] == [("pruner", ""), ("sparsity", ""), ("Aua %", "pwws")]


def test_runs_without_factors_are_named_by_their_labels() -> None:
    cells = [Cell(name, {"run": name}, Path(name), results(clean=[0.5], name=name)) for name in "ab"]
    assert column(table_of(study(cells)), "Run") == ["a", "b"]
