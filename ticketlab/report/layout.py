"""Layout of tables on a terminal: one table if it fits, otherwise several, split between groups of columns. No cell is truncated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ticketlab.core import formatting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

EMPTY = "-"
UNLIMITED_WIDTH = 10_000
MIN_TEXT_WIDTH = 16
"""The minimum width of a folded text column, in characters."""


@frozen
class ColumnGroup:
    """Columns that stay together. ``lines`` has one tuple of cells per line; ``note`` is the caption's text about the columns."""

    heads: tuple[str, ...]
    lines: Sequence[tuple[str, ...]]
    note: str = ""


@frozen
class TableData:
    """The content of a table, independent of its width. All texts are plain; they are escaped when the table is rendered.

    ``stub`` is repeated on the left of every part of the table. Its first ``text_columns`` columns are text, all other columns are
    numbers. A line in ``baselines`` is omitted from a part that has no value in it.
    """

    title: str
    stub: ColumnGroup
    groups: tuple[ColumnGroup, ...]
    text_columns: int = 1
    baselines: frozenset[int] = frozenset()


def rich_table(
    data: TableData, groups: Sequence[ColumnGroup] | None = None, *, tight: bool = False, max_text_width: int | None = None
) -> Table:
    """Return a Rich table of some of the column groups, by default of all.

    ``tight`` leaves less space between columns; text columns are folded at ``max_text_width`` characters.
    """
    from rich import box
    from rich.table import Table

    groups = data.groups if groups is None else groups
    caption = "; ".join(group.note for group in (data.stub, *groups) if group.note)
    table = Table(title=cell_text(data.title), caption=cell_text(caption), box=box.SIMPLE, collapse_padding=tight)
    table.title_justify = table.caption_justify = "left"
    for number, head in enumerate(head for group in (data.stub, *groups) for head in group.heads):
        if number < data.text_columns:
            table.add_column(cell_text(head), overflow="fold", max_width=max_text_width)
        else:
            table.add_column(cell_text(head), justify="right")
    for line, stub in enumerate(data.stub.lines):
        cells = [cell for group in groups for cell in group.lines[line]]
        if line not in data.baselines or any(cell != EMPTY for cell in cells):
            table.add_row(*map(cell_text, [*stub, *cells]))
    return table


def cell_text(text: object) -> str:
    """Return the text of a cell: made printable (:func:`ticketlab.core.formatting.printable`), line breaks kept, markup escaped."""
    from rich.markup import escape

    return escape(formatting.printable(text, lines=True))


def plain_cell(text: object) -> Text:
    """Return the text of a cell as :func:`cell_text` does, as an object of Rich, which is faster for large tables."""
    from rich.text import Text

    return Text(formatting.printable(text, lines=True))


def fit_to_console(data: TableData, console: Console) -> list[Table]:
    """Return the tables that show the data, each with as many consecutive column groups as fit the console's width.

    If a single group is too wide, the text columns are folded; if that is not enough, the group is split into its columns.
    """
    whole = rich_table(data)
    if _width(whole, console) <= console.width:
        return [whole]
    parts: list[list[ColumnGroup]] = []
    for group in data.groups:
        if parts and _width(rich_table(data, [*parts[-1], group], tight=True), console) <= console.width:
            parts[-1].append(group)
        else:
            parts.append([group])
    return [table for groups in parts for table in _narrow(data, groups, console)]


def _narrow(data: TableData, groups: Sequence[ColumnGroup], console: Console) -> list[Table]:
    table = rich_table(data, groups, tight=True)
    if _width(table, console) <= console.width:
        return [table]
    folded = rich_table(data, groups, tight=True, max_text_width=MIN_TEXT_WIDTH)
    room = console.width - _width(folded, console)
    if room >= 0:
        return [rich_table(data, groups, tight=True, max_text_width=MIN_TEXT_WIDTH + room // data.text_columns)]
    if len(groups[0].heads) == 1:
        return [folded]
    (group,) = groups
    columns = [
        ColumnGroup((head,), [(line[number],) for line in group.lines], "" if number else group.note)
        for number, head in enumerate(group.heads)
    ]
    return fit_to_console(evolve(data, groups=tuple(columns)), console)


def _width(table: Table, console: Console) -> int:
    return console.measure(table, options=console.options.update(max_width=UNLIMITED_WIDTH)).maximum


def model_headings(labels: Sequence[str]) -> list[str]:
    """Return the heading above each model's columns: its label without the words that all labels begin with; empty for one model."""
    if len(labels) < 2:
        return ["" for _ in labels]
    words = [label.split(" ") for label in labels]
    common = 0
    while all(len(own) > common + 1 and own[common] == words[0][common] for own in words):
        common += 1
    return ["\n".join([*own[common:], ""]) for own in words]
