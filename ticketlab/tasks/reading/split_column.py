"""Divides the rows of a file into splits by a split column, whose values name the split of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.columns import LABELS, PAIRS, TEXTS, column_hint
from ticketlab.tasks.reading.labels import label_name, quote_some
from ticketlab.tasks.reading.split_values import are_flags, are_folds, is_flag, is_split_like, split_of_value
from ticketlab.tasks.reading.tables import Table

SETTING = "split_column"
PROVENANCE = "taken_from"
"""The column of an exported set of adversarial texts that names the split of each original. It divides nothing."""
SPLITS = ("train", "validation", "test")
_TEXT_AND_LABEL_NAMES = frozenset({*TEXTS, *LABELS, *(name for pair in PAIRS for name in pair)})
"""Names of columns that are used for texts and labels."""


@frozen
class Division:
    """The tables by split, without split columns, and messages about these columns."""

    tables: Mapping[str, Table]
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@frozen
class _Column:
    """A column, and the number of rows of each table with each of its values."""

    name: str
    values: Mapping[str, Counter[str]]
    rows: Counter[str]

    @property
    def splits(self) -> set[str]:
        return {split for value in self.rows if (split := split_of_value(value))}

    @property
    def foreign(self) -> list[str]:
        """Values that are not names of splits."""
        return [value for value in self.rows if not split_of_value(value)]

    @property
    def is_split_column(self) -> bool:
        return not self.foreign and (is_split_like(self.name) or ("train" in self.splits and len(self.splits) > 1))

    @property
    def shown(self) -> str:
        common = ", ".join(f"{_shown([value])} {count}" for value, count in self.rows.most_common(6))
        return f"column `{self.name}` ({common}{', ...' if len(self.rows) > 6 else ''})"

    def agrees(self) -> bool:
        """Return whether the column agrees with the names of the files."""
        return all(split_of_value(value) == split for split, values in self.values.items() for value in values)


def divide_rows(
    read: Mapping[str, Table],
    requested: str | None = "",
    *,
    named: bool,
    taken: Collection[str] = (),
    keep: Collection[str] = (),
    flag: str = f"--set tasks.{SETTING}",
) -> Division:
    """Divide the rows of a file by its split column. If the files are splits already, check that no split column contradicts them.

    ``requested`` is the column, empty to detect it, None to ignore split columns. ``named`` is whether the names of the files contain their
    splits. Columns in ``taken`` have another use; those in ``keep`` stay in the tables. ``flag`` sets ``requested``, for messages.

    A column other than :data:`PROVENANCE` is detected by its values: all must be names of splits, and they must include train and another
    split. If it is called ``split``, ``set``, ``fold`` or the like, a single split is enough, and it is an error if only some values are
    names of splits.

    :raises DataError: the column does not exist; it has values that are not names of splits; two columns divide the rows differently; a
        column contradicts the names of the files.
    """
    other_use = {*taken, PROVENANCE}
    columns = [_column(read, name) for name in _names(read) if name not in other_use and _may_be_split_column(read, name)]
    found = [column for column in columns if column.is_split_column]
    mixed = [column for column in columns if not named and column.splits and column.foreign and is_split_like(column.name)]
    if requested:
        column = _requested_column(read, requested, taken)
        return _divide_by(read, column, [column, *found], named=named, by_user=True, keep=keep, flag=flag)
    if requested is None:
        unused = tuple(f"{column.shown} does not divide the rows, because {SETTING} is none" for column in found + mixed)
        return Division(_without(read, found + mixed, keep), unused)
    source = _source(read)
    if mixed and not found:
        raise DataError(
            f"{source}: {mixed[0].shown} contains names of splits, but also {_shown(mixed[0].foreign)}; name a split in every row, or "
            f"use {flag}=none to ignore this column"
        )
    if len({_assignment(read, column) for column in found}) > 1:
        raise DataError(
            f"{source}: columns {' and '.join(f'`{column.name}`' for column in found)} divide the rows differently; use "
            f"{flag}={found[0].name} for the first one, or {flag}=none for neither"
        )
    if found:
        return _divide_by(read, found[0], found, named=named, by_user=False, keep=keep, flag=flag)
    return Division(read) if named else _undivided_with_hints(read, taken)


def _requested_column(read: Mapping[str, Table], requested: str, taken: Collection[str]) -> _Column:
    source, names = _source(read), _names(read)
    if requested not in names:
        raise DataError(f"{source}: {SETTING}: there is no column `{requested}`{column_hint(requested, names)}")
    if requested in taken:
        raise DataError(f"{source}: {SETTING}: `{requested}` is already used for the text, the label or the id")
    column = _column(read, requested)
    if column.foreign:
        raise DataError(
            f"{source}: {SETTING}: {column.shown} must contain only names of splits (train, validation or dev, test), but contains "
            f"{_shown(column.foreign)}"
        )
    return column


def _divide_by(
    read: Mapping[str, Table], column: _Column, found: Sequence[_Column], *, named: bool, by_user: bool, keep: Collection[str], flag: str
) -> Division:
    """Divide by a column, and remove all split columns in ``found``. ``by_user`` is whether the user named the column."""
    if named and column.agrees():
        return Division(_without(read, found, keep))
    if len(read) > 1 or (named and not by_user):
        this = f"use {flag}={column.name} to follow the column, or " if len(read) == 1 else "use "
        names = " and ".join(read)
        raise DataError(
            f"{_source(read)}: {column.shown} contradicts the files' names ({names}); {this}{flag}=none to follow the files' names"
        )
    (table,) = read.values()
    parts: dict[str, list[Mapping[str, Any]]] = {split: [] for split in SPLITS if split in column.splits}
    for row in table.rows:
        parts[split_of_value(row.get(column.name)) or ""].append(row)
    tables = {split: evolve(table, source=f"{table.source} ({column.name} {split})", rows=rows) for split, rows in parts.items()}
    otherwise = "" if by_user else f"; {flag}=none ignores it"
    return Division(_without(tables, found, keep), (f"{column.shown} divides the rows{otherwise}",))


def _undivided_with_hints(read: Mapping[str, Table], taken: Collection[str]) -> Division:
    """Return the tables unchanged, with messages about columns that look like split columns but are not used as such."""
    names = [name for name in _names(read) if name not in taken and (is_split_like(name) or is_flag(name))]
    columns = [_column(read, name) for name in names]
    values = {column.name: set(column.rows) for column in columns}
    unused = "does not divide the rows; if it should, write train, validation or test into a column `split`"
    folds = tuple(f"column `{name}` contains numbers and {unused}" for name in names if are_folds(name, values[name]))
    flags = tuple(f"column `{name}` may mark training rows, but {unused}" for name in names if are_flags(name, values[name]))
    other = [column for column in columns if column.name.lower() in ("split", "splits", "partition") and len(column.rows) > 1]
    foreign = tuple(
        f"{column.shown} does not divide the rows, because its values are not known names of splits: train, validation or dev, test"
        for column in other
        if not are_folds(column.name, values[column.name])
    )
    return Division(read, folds, (*flags, *foreign))


def _may_be_split_column(read: Mapping[str, Table], name: str) -> bool:
    """Return whether a column is worth reading: its name suggests splits, or its first value is the name of a split."""
    values = (row.get(name) for table in read.values() for row in table.rows)
    return name.lower() not in _TEXT_AND_LABEL_NAMES and (
        is_split_like(name) or split_of_value(next((value for value in values if value is not None), None)) is not None
    )


def _column(read: Mapping[str, Table], name: str) -> _Column:
    values = {split: Counter(_text(row.get(name)) for row in table.rows) for split, table in read.items()}
    return _Column(name, values, sum(values.values(), Counter()))


def _text(value: Any) -> str:
    try:
        return label_name(value)
    except TypeError:
        return f"a {type(value).__name__}"


def _assignment(read: Mapping[str, Table], column: _Column) -> tuple[str | None, ...]:
    return tuple(split_of_value(row.get(column.name)) for table in read.values() for row in table.rows)


def _names(read: Mapping[str, Table]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for table in read.values() for name in table.columns))


def _source(read: Mapping[str, Table]) -> str:
    return next(iter(read.values())).source


def _shown(values: Sequence[str]) -> str:
    return quote_some([value or "(empty)" for value in values], 6)


def _without(read: Mapping[str, Table], columns: Sequence[_Column], keep: Collection[str]) -> dict[str, Table]:
    hidden = {column.name for column in columns} - set(keep)
    return {split: evolve(table, columns=tuple(name for name in table.columns if name not in hidden)) for split, table in read.items()}
