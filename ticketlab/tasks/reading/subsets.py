"""Which columns divide the examples into subsets, and which holds their ids."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.tasks.reading.columns import LABELS, Columns
from ticketlab.tasks.reading.labels import some
from ticketlab.tasks.reading.tables import Table

MOST = 50
"""Distinct values of a column that is taken for one of subsets without being asked for."""


def complete(columns: Columns, tables: Sequence[Table], subsets: Sequence[str] | None, identity: str | None) -> Columns:
    """Return the columns with those of the subsets and of the ids.

    With ``subsets`` None they are inferred: columns of text besides those in use that have from 2 to 50 values, each twice on average or
    more often.

    :raises DataError: a column isn't there (with the nearest that is), or has another use already.
    """
    for table in tables:
        if identity is not None and identity not in table.columns:
            raise DataError(f"{table.source}: id_column: there is no column `{identity}`{_hint(identity, table.columns)}")
    if identity in columns.texts or identity == columns.label:
        raise DataError(f"{tables[0].source}: id_column: `{identity}` holds the {'label' if identity == columns.label else 'text'} already")
    used = {*columns.texts, columns.label, identity}
    if subsets is None:
        chosen = tuple(name for name in _names(tables) if name not in used and name.lower() not in LABELS and _divides(tables, name))
    else:
        chosen = tuple(subsets)
        for name in chosen:
            _check(name, chosen, used, tables)
    return evolve(columns, subsets=chosen, id=identity)


def _check(name: str, chosen: Sequence[str], used: set[str | None], tables: Sequence[Table]) -> None:
    source = tables[0].source
    if name not in _names(tables):
        raise DataError(f"{source}: subset_columns: there is no column `{name}`{_hint(name, _names(tables))}")
    if name in used:
        raise DataError(f"{source}: subset_columns: `{name}` is the text, the label or the id already")
    if chosen.count(name) > 1:
        raise DataError(f"{source}: subset_columns: `{name}` is named twice")


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
            if not isinstance(value, str) or len(distinct) > MOST:
                return False
            distinct.add(value)
            rows += 1
    return 2 <= len(distinct) <= MOST and 2 * len(distinct) <= rows


def _hint(name: str, names: Sequence[str]) -> str:
    hint = did_you_mean(name, names)
    return f" (the columns are {some(names)})" if "there is" in hint else hint
