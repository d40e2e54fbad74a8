"""A table of a page: sortable by each column, filterable by text and by the levels of factors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from attrs import field, frozen


@frozen
class PageColumn:
    """A column. Columns with the same ``group`` that are next to each other share a heading; ``note`` explains it.

    ``filter`` makes the values of a text column a choice above the table.
    """

    head: str
    group: str = ""
    numeric: bool = True
    note: str = ""
    filter: bool = False


@frozen
class PageCell:
    """A cell. ``sort`` is what it is sorted and filtered by: a number, a text, or None if it is empty.

    ``spread`` follows the text in a muted colour, ``below`` is a second line, ``title`` is shown when the pointer rests on the cell, and
    ``link`` is the id of an element of the page.
    """

    text: str = ""
    sort: float | str | None = None
    spread: str = ""
    below: str = ""
    title: str = ""
    link: str = ""
    best: bool = False

    @classmethod
    def of_text(cls, text: str, *, link: str = "", below: str = "") -> PageCell:
        """Return a cell that is sorted by its text."""
        return cls(text, text, link=link, below=below)


@frozen
class PageRow:
    """A row; ``unfinished`` rows have no numbers."""

    cells: tuple[PageCell, ...]
    unfinished: bool = False


@frozen
class PageTable:
    """A table. ``id`` is unique in the page, and ``name`` is read out to those who do not see the heading above the table.

    ``remarks`` are numbered from 1 under the table. Without columns there are only they.
    """

    id: str
    name: str
    columns: tuple[PageColumn, ...]
    rows: tuple[PageRow, ...]
    note: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings of groups of columns, with their numbers of columns; empty if no column is in a group."""
        if not any(column.group for column in self.columns):
            return []
        return [(group, len(list(columns))) for group, columns in groupby(self.columns, lambda column: column.group)]

    def choices(self, index: int) -> list[str]:
        """Return the distinct texts of a column, in the order of their first rows."""
        return list(dict.fromkeys(str(row.cells[index].sort) for row in self.rows if row.cells[index].sort is not None))


def without_empty_columns(columns: Sequence[PageColumn], rows: Sequence[PageRow]) -> tuple[tuple[PageColumn, ...], tuple[PageRow, ...]]:
    """Return columns and rows without the columns that are empty in every row."""
    kept = [index for index in range(len(columns)) if any(row.cells[index].text for row in rows)]
    return (
        tuple(columns[index] for index in kept),
        tuple(PageRow(tuple(row.cells[index] for index in kept), row.unfinished) for row in rows),
    )


@frozen
class Remarks:
    """The remarks of a table: a cell of the table has their numbers, and the list under it has each once."""

    texts: list[str] = field(factory=list)

    def cell(self, remarks: Iterable[str]) -> PageCell:
        """Return the cell of a row with these remarks; empty ones do not count."""
        own = [remark for remark in remarks if remark]
        self.texts.extend(dict.fromkeys(remark for remark in own if remark not in self.texts))
        numbers = [self.texts.index(remark) + 1 for remark in own]
        return PageCell(", ".join(map(str, numbers)), numbers[0] if numbers else None, title="; ".join(own))
