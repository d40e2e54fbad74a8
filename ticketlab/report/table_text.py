"""A comparison's table on a terminal."""

from __future__ import annotations

import io
from itertools import groupby
from typing import TYPE_CHECKING

from ticketlab.report.comparison_table import Column, ComparisonTable, Entry, Row, deviation_text, footnote_letter, letters_of, mean_text
from ticketlab.report.layout import EMPTY, UNLIMITED_WIDTH, ColumnGroup, TableData, cell_text, fit_to_console
from ticketlab.report.verdict_table import NUMBERS, VerdictTable, verdict_table

if TYPE_CHECKING:
    from rich.console import Console

BEST = "*"
SIGNIFICANT = "†"
MAX_CLAIM = 60
"""The maximum width of the claim and the comparison of a hypothesis, in characters; longer ones are wrapped."""


def text_table(table: ComparisonTable) -> TableData:
    """Return the table without its title as the data of :mod:`ticketlab.report.layout`.

    Columns of one set, attack or group stay together.
    """
    stub = ColumnGroup(table.stub, [_stub(row) for row in table.rows])
    groups = []
    for _, group in groupby(range(len(table.columns)), key=lambda number: table.columns[number].heads[:-1]):
        numbers = list(group)
        heads = tuple("\n".join(head for head in table.columns[number].heads if head) for number in numbers)
        lines = [tuple(_entry(row.entries[number], table.columns[number]) for number in numbers) for row in table.rows]
        groups.append(ColumnGroup(heads, lines))
    return TableData("", stub, tuple(groups), len(table.stub))


def text_notes(table: ComparisonTable) -> list[str]:
    """Return the lines under the table: its legend, footnotes and notes."""
    return [
        *table.legend,
        *([f"{BEST} best of its column"] if table.has_best else []),
        *([f"{SIGNIFICANT} {table.significance}"] if table.significance else []),
        *(f"({footnote_letter(number)}) {text}" for number, text in enumerate(table.footnotes)),
        *(f"Note: {note}" for note in (*table.notes, *table.warnings)),
    ]


def _stub(row: Row) -> tuple[str, ...]:
    levels = [level or EMPTY for level in row.stub]
    return (*levels[:-1], levels[-1] + _letters(row.marks)) if levels else ()


def _entry(entry: Entry, column: Column) -> str:
    deviation = deviation_text(entry, column)
    marks = f"{BEST if entry.best else ''}{SIGNIFICANT if entry.significant else ''}{_letters(entry.marks)}"
    return f"{mean_text(entry, column)}{f' ± {deviation}' if deviation else ''}{marks}"


def _letters(marks: tuple[int, ...]) -> str:
    return f" ({letters_of(marks)})" if marks else ""


def print_table(table: ComparisonTable, console: Console) -> None:
    """Print the title, the table, in parts if the console is too narrow, the lines under it, and the verdicts on hypotheses."""
    console.print(cell_text(table.title), style="italic", highlight=False, soft_wrap=True)
    for part in fit_to_console(text_table(table), console):
        console.print(part)
    for line in text_notes(table):
        console.print(cell_text(line), highlight=False, soft_wrap=True)
    if table.verdicts:
        _print_verdicts(verdict_table(table.verdicts), console)


def _print_verdicts(verdicts: VerdictTable, console: Console) -> None:
    """Print the table of hypotheses, with each comparison below its claim, and the lines under it."""
    from rich import box
    from rich.table import Table

    (claim, comparison), heads = verdicts.heads[:2], verdicts.heads[2:]
    shown = Table(box=box.SIMPLE, collapse_padding=True)
    shown.add_column(f"{claim}\n{comparison}", overflow="fold", max_width=MAX_CLAIM)
    for head in heads:
        shown.add_column(head, justify="right" if head in NUMBERS else "left", no_wrap=True)
    for row in verdicts.rows:
        shown.add_row(*map(cell_text, ["\n".join(filter(None, row[:2])), *row[2:]]))
    console.print(shown)
    for line in verdicts.notes:
        console.print(cell_text(line), highlight=False, soft_wrap=True)


def plain_table(table: ComparisonTable) -> str:
    """Return the table as plain text of any width."""
    from rich.console import Console

    output = io.StringIO()
    print_table(table, Console(file=output, width=UNLIMITED_WIDTH))
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"
