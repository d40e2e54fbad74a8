from __future__ import annotations

import io

import pytest
from rich.console import Console

from ticketlab.report.layout import ColumnGroup, TableData, fit_to_console, model_headings, rich_table


def _console(width: int) -> Console:
    return Console(file=io.StringIO(), width=width)


def _table(name: str = "model", columns: int = 3, groups: int = 2) -> TableData:
    group = ColumnGroup(tuple(f"head {number:03}" for number in range(columns)), [("1.0",) * columns], "a note")  # 8 characters a column
    return TableData("title", ColumnGroup(("",), [(name,)]), (group,) * groups)


def _heads(data: TableData, width: int) -> list[int]:
    """Return the number of columns of each table, without the name."""
    return [len(table.columns) - 1 for table in fit_to_console(data, _console(width))]


@pytest.mark.parametrize(
    ("width", "heads"),
    [
        # name 5, three columns of 8 and 3 between columns, 2 at each edge: 2 + 5 + 6 * 11 + 2 = 75; with 2 between columns 69
        pytest.param(75, [6], id="whole"),
        pytest.param(69, [6], id="less space between columns"),
        pytest.param(68, [3, 3], id="groups split"),
        pytest.param(39, [3, 3], id="a group just fits: 2 + 5 + 3 * 10 + 2"),
        pytest.param(38, [2, 1, 2, 1], id="columns split"),
        pytest.param(28, [1, 1, 1, 1, 1, 1], id="one column each"),
    ],
)
def test_a_table_has_as_many_column_groups_as_fit_the_console(width: int, heads: list[int]) -> None:
    assert _heads(_table(), width) == heads


def test_a_long_name_is_folded_before_a_group_is_split() -> None:
    console = _console(60)  # 2 + name + 3 * 10 + 2 leaves 26 characters for the name
    (table,) = fit_to_console(_table("a" * 40, groups=1), console)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [line.split()[0] for line in lines if "a" * 5 in line] == ["a" * 26, "a" * 14]


def test_a_baseline_is_omitted_from_a_part_without_its_values() -> None:
    first, second = ColumnGroup(("x",), [("1",), ("2",)]), ColumnGroup(("y",), [("1",), ("-",)])
    table = TableData("title", ColumnGroup(("",), [("model",), ("majority",)]), (first, second), baselines=frozenset({1}))
    assert rich_table(table).row_count == 2
    assert rich_table(table, [second]).row_count == 1


@pytest.mark.parametrize(
    ("labels", "over"),
    [
        (["one model"], [""]),
        (["poe finetune", "poe search"], ["finetune\n", "search\n"]),
        (["fine-tuned model", "robust ticket"], ["fine-tuned\nmodel\n", "robust\nticket\n"]),
        (["poe", "poe search"], ["poe\n", "poe\nsearch\n"]),
        (["same", "same"], ["same\n", "same\n"]),
    ],
)
def test_headings_omit_the_words_that_all_labels_begin_with(labels: list[str], over: list[str]) -> None:
    assert model_headings(labels) == over
