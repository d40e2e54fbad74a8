"""Determines the columns whose values divide the examples into subsets, and the id column."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.columns import LABELS, Columns, column_hint
from ticketlab.tasks.reading.tables import Table

MAX_SUBSETS = 50
"""The largest number of distinct values of a column that is used for subsets by default."""


def add_subsets_and_ids(columns: Columns, tables: Sequence[Table], subsets: Sequence[str] | None, identity: str | None) -> Columns:
    """Return the columns with those of the subsets and of the ids added.

    If ``subsets`` is None, they are inferred: unused text columns with 2 to 50 distinct values, each occurring twice or more on average.

    :raises DataError: a column does not exist (the message contains the most similar name), or is already in use.
    """
    for table in tables:
        if identity is not None and identity not in table.columns:
            raise DataError(f"{table.source}: id_column: there is no column `{identity}`{column_hint(identity, table.columns)}")
    if identity in columns.texts or identity == columns.label:
        raise DataError(
            f"{tables[0].source}: id_column: `{identity}` is already used for the {'label' if identity == columns.label else 'text'}"
        )
    used = {*columns.texts, columns.label, identity}
    if subsets is None:
        chosen = tuple(name for name in _names(tables) if name not in used and name.lower() not in LABELS and _divides(tables, name))
    else:
        chosen = tuple(subsets)
        for name in chosen:
            _check_subset_column(name, chosen, used, tables)
    return evolve(columns, subsets=chosen, id=identity)


def _check_subset_column(name: str, chosen: Sequence[str], used: set[str | None], tables: Sequence[Table]) -> None:
    source = tables[0].source
    if name not in _names(tables):
        raise DataError(f"{source}: subset_columns: there is no column `{name}`{column_hint(name, _names(tables))}")
    if name in used:
        raise DataError(f"{source}: subset_columns: `{name}` is already used for the text, the label or the id")
    if chosen.count(name) > 1:
        raise DataError(f"{source}: subset_columns: `{name}` is listed twice")


def _names(tables: Sequence[Table]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for table in tables for name in table.columns))


def _divides(tables: Sequence[Table], name: str) -> bool:
    distinct: set[str] = set()
    rows = 0
    for table in tables:
        for row in table.rows:
            value = row.get(name)
            if value is None or value == "":
                continue
            if not isinstance(value, str) or len(distinct) > MAX_SUBSETS:
                return False
            distinct.add(value)
            rows += 1
    return 2 <= len(distinct) <= MAX_SUBSETS and 2 * len(distinct) <= rows
