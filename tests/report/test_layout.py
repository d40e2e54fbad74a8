from __future__ import annotations

import io

import pytest
from rich.console import Console

from ticketlab.report.layout import Block, Sheet, draw, fit, headings


def _console(width: int) -> Console:
    return Console(file=io.StringIO(), width=width)


def _sheet(name: str = "model", columns: int = 3, blocks: int = 2) -> Sheet:
    block = Block(tuple(f"head {number:03}" for number in range(columns)), [("1.0",) * columns], "a note")  # 8 characters a column
    return Sheet("title", Block(("",), [(name,)]), (block,) * blocks)


def _heads(sheet: Sheet, width: int) -> list[int]:
    """Return how many columns each table has beside the name."""
    return [len(table.columns) - 1 for table in fit(sheet, _console(width))]


@pytest.mark.parametrize(
    ("width", "heads"),
    [
        # name 5, three columns of 8 and 3 between columns, 2 at each edge: 2 + 5 + 6 * 11 + 2 = 75; with 2 between columns 69
        pytest.param(75, [6], id="whole"),
        pytest.param(69, [6], id="less space between columns"),
        pytest.param(68, [3, 3], id="blocks apart"),
        pytest.param(39, [3, 3], id="a block just fits: 2 + 5 + 3 * 10 + 2"),
        pytest.param(38, [2, 1, 2, 1], id="columns apart"),
        pytest.param(28, [1, 1, 1, 1, 1, 1], id="one column each"),
    ],
)
def test_a_table_has_as_many_blocks_as_the_console_is_wide(width: int, heads: list[int]) -> None:
    assert _heads(_sheet(), width) == heads


def test_a_long_name_is_folded_before_columns_part() -> None:
    console = _console(60)  # 2 + name + 3 * 10 + 2 leaves 26 to the name
    (table,) = fit(_sheet("a" * 40, blocks=1), console)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [line.split()[0] for line in lines if "a" * 5 in line] == ["a" * 26, "a" * 14]


def test_a_baseline_is_left_out_of_a_table_that_has_nothing_of_it() -> None:
    first, second = Block(("x",), [("1",), ("2",)]), Block(("y",), [("1",), ("-",)])
    sheet = Sheet("title", Block(("",), [("model",), ("majority",)]), (first, second), baselines=frozenset({1}))
    assert draw(sheet).row_count == 2
    assert draw(sheet, [second]).row_count == 1


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
def test_headings_leave_out_what_all_models_begin_with(labels: list[str], over: list[str]) -> None:
    assert headings(labels) == over
