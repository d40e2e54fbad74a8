"""The tables of differences and of published numbers, and the summary."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from support.comparisons import results, study
from support.small_page import small_study

from ticketlab.pages import summary
from ticketlab.pages.cell_names import CellNames
from ticketlab.pages.comparison_tables import baseline_table, effects_table
from ticketlab.pages.data_table import PageTable
from ticketlab.pages.published_table import published_table
from ticketlab.report.cells import Cell, Comparison, Published
from ticketlab.report.compared_metrics import compared_with_baseline
from ticketlab.report.numbers import all_numbers
from ticketlab.report.summaries import Summary, summarise_numbers
from ticketlab.statistics.paired import BOTH_TESTS


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return small_study(tmp_path_factory.mktemp("lab"))


def summaries_of(comparison: Comparison) -> list[Summary]:
    return summarise_numbers(all_numbers(comparison))


def lines(table: PageTable | None) -> list[dict[str, str]]:
    assert table is not None
    return [{column.head: cell.text for column, cell in zip(table.columns, row.cells, strict=True)} for row in table.rows]


def test_each_cell_is_compared_with_its_baseline(comparison: Comparison) -> None:
    tests, _, _ = compared_with_baseline(comparison)
    table = baseline_table(comparison, tests, CellNames(comparison))
    (line,) = [line for line in lines(table) if (line["pruner"], line["sparsity"], line["Metric"]) == ("imp", "0.1", "clean.accuracy")]
    assert (line["Compared with"], line["Value"], line["Baseline"], line["Difference"]) == ("random, 0.1", "50.0", "37.5", "+12.5")
    assert line["Test"] == BOTH_TESTS
    assert table is not None
    remarks = [number for line in lines(table) if line["Remarks"] for number in line["Remarks"].split(", ")]
    assert {int(number) for number in remarks} == set(range(1, len(table.remarks) + 1))


def test_effects_have_a_line_for_each_level_and_metric(comparison: Comparison) -> None:
    found = [line for line in lines(effects_table(comparison, ["clean.accuracy"])) if line["Factor"] == "pruner"]
    assert [(line["Level"], line["Cells"], line["Mean"], line["Difference"]) for line in found] == [
        ("random", "3", ["37.5", "±", "17.7"][0], ""),
        ("imp", "2", "50.0", "+12.5"),
    ]


def test_a_comparison_without_factors_and_baseline_has_no_such_tables() -> None:
    runs = study([Cell(name, {"run": name}, Path(name), results(clean=[0.5], name=name)) for name in "ab"])
    assert baseline_table(runs, (), CellNames(runs)) is None
    assert effects_table(runs, ["clean.accuracy"]) is None


def test_a_metric_of_several_models_leaves_a_remark_alone() -> None:
    cells = []
    for name in "ab":
        found = results(clean=[0.5], name=name)
        stages = found["tasks"]["sst2"]["0"]
        stages |= {"second": {**stages["train"], "key": f"{name} 2"}, "other": {**stages["evaluate"], "key": f"{name} 3", "of": "second"}}
        cells.append(Cell(name, {"pruner": name}, Path(name), found))
    table = effects_table(study(cells), ["clean.accuracy"])
    assert table is not None
    assert (table.columns, table.rows, table.note) == ((), (), "")
    assert "clean.accuracy" in table.remarks[0]


def test_published_numbers_are_beside_ours(comparison: Comparison) -> None:
    other = Published({"pruner": "movement"}, "clean.accuracy", 90.0)
    failed = Published({"pruner": "imp", "sparsity": "0.5"}, "clean.accuracy", 80)
    comparison = evolve(comparison, published=(*comparison.published, failed, other))
    found = lines(published_table(comparison, summaries_of(comparison), CellNames(comparison)))
    numbers = [tuple(line[head] for head in ("pruner", "sparsity", "Published", "Ours", "Difference")) for line in found]
    assert numbers == [("imp", "0.1", "91.5", "50.0", "-41.5"), ("imp", "0.5", "80.0", "", ""), ("movement", "", "90.0", "", "")]


def test_problems_name_their_cells(comparison: Comparison) -> None:
    comparison = evolve(comparison, notes=("a note",))
    found = summary.problems(comparison, summaries_of(comparison), CellNames(comparison))
    assert [(problem.text.partition(":")[0], [cell.anchor for cell in problem.cells]) for problem in found] == [
        ("failed", ["cell-6"]),
        ("the same computation as random, 0.1", ["cell-2"]),
        ("a note", []),
    ]


def test_a_run_that_was_removed_is_a_problem_but_no_failure(comparison: Comparison) -> None:
    *others, last = comparison.cells
    comparison = evolve(comparison, cells=(*others, evolve(last, error="", missing="its run is no longer in the lab")))
    found = summary.problems(comparison, summaries_of(comparison), CellNames(comparison))
    assert found[0].text == "not in the lab: its run is no longer in the lab"
    assert not any("not finished" in problem.text or "failed" in problem.text for problem in found)


def test_a_reduced_scale_and_a_single_seed_are_problems() -> None:
    runs = study([Cell(name, {"run": name}, Path(name), results(clean=[0.5], name=name, scale="small")) for name in "ab"])
    found = [problem.text for problem in summary.problems(runs, summaries_of(runs), CellNames(runs))]
    assert [text.partition(":")[0] for text in found] == ["scale small", "one seed"]


@pytest.mark.parametrize(
    ("given", "shown"), [("a, b, c", "3 runs"), ("mine", "mine")], ids=["three runs without a title", "runs with a title"]
)
def test_many_runs_are_counted_in_the_title(given: str, shown: str) -> None:
    cells = [Cell(name, {"run": name}, Path(name), results(clean=[0.5], name=name)) for name in "abc"]
    assert summary.title(study(cells, title=given)) == shown


def test_a_warning_of_all_cells_names_none() -> None:
    cells = [Cell(name, {"run": name}, Path(name), results(clean=[0.5], name=name, warnings=["odd"])) for name in "ab"]
    (warning,) = summary.warnings(study(cells), CellNames(study(cells)))
    assert (warning.text, warning.cells) == ("sst2, evaluate: odd", ())


def test_the_summary_lists_what_was_compared(comparison: Comparison) -> None:
    assert {fact.heading: fact.values for fact in summary.facts(comparison)} == {
        "pruner": ("random", "imp"),
        "sparsity": ("0.1", "0.3", "0.5"),
        "Cells": ("6 cells, 5 finished",),
        "Tasks": ("sst2",),
        "Models": ("demo",),
        "Scale": ("full",),
        "Seeds": ("0, 1",),
        "Baseline": ("random",),
    }


def test_published_numbers_of_a_task_that_is_no_factor_are_beside_ours(comparison: Comparison) -> None:
    (task,) = {summary.number.task for summary in summaries_of(comparison)}
    printed = [Published({"pruner": "imp", "sparsity": "0.1", "task": name}, "clean.accuracy", 90.0) for name in (task, "imdb")]
    found = lines(published_table(evolve(comparison, published=tuple(printed)), summaries_of(comparison), CellNames(comparison)))
    assert [(line["Ours"], line["Difference"]) for line in found] == [("50.0", "-40.0"), ("", "")]
