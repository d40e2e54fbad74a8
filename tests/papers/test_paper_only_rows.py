"""Rows that are not computed because a plugin is missing: they have the printed numbers, are marked, and are no failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticketlab.core import registry
from ticketlab.pages.cell_names import status
from ticketlab.papers.catalogue import read
from ticketlab.papers.counting import plan_by_names
from ticketlab.report.build_table import comparison_table
from ticketlab.report.cells import Comparison
from ticketlab.report.table_markdown import markdown_table
from ticketlab.report.table_spec import TableSpec
from ticketlab.studies.store import StudyStore
from ticketlab.studies.stored_cells import read_study_cells
from ticketlab.studies.study import StudyRun


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder: Path = tmp_path_factory.mktemp("lab") / "studies" / "robust-tickets-table-2"
    with registry.using(registry.load(entry_points=False)):
        store = StudyStore(plan_by_names(read("robust-tickets/table-2", seeds=1)), folder)
        store.begin()
        for number, cell in enumerate(store.plan.cells):
            store.cell_done(number, None, cell.error)
    return read_study_cells(folder)


def test_a_cell_that_is_not_computed_has_a_reason_and_no_error(comparison: Comparison) -> None:
    marked = {cell.levels["method"] for cell in comparison.cells if cell.unavailable}
    assert marked == {"InfoBERT"}
    assert {cell.unavailable for cell in comparison.cells if cell.levels["method"] == "InfoBERT"} == {
        "needs the plugin ticketlab-infobert: install it, or name its file or folder with `--plugin`"
    }
    assert {cell.error for cell in comparison.cells} == {""}
    assert [status(cell) for cell in comparison.cells[:3]] == ["not finished", "not finished", "not computed"]
    assert not any("InfoBERT" in label for label in StudyRun(Path(), comparison).failed)


def test_the_table_has_the_printed_numbers_of_a_cell_that_is_not_computed(comparison: Comparison) -> None:
    spec = TableSpec(**{key: tuple(comparison.table[key]) for key in ("rows", "metrics")})
    text = markdown_table(comparison_table(comparison, spec))
    assert "not computed: needs the plugin ticketlab-infobert: install it" in text
    lines = [[part.strip() for part in line.split("|")] for line in text.splitlines()]
    rows = [line for line in lines if any("InfoBERT" in part for part in line)]
    assert any("not computed" in part for part in rows[0])
    printed = [line for line in lines if "paper" in line]
    assert any({"91.5", "16.4", "20.9"} <= set(line) for line in printed)
