"""Dividing the rows of a file by a column whose values say which split a row belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.tasks.reading.columns import LABELS, PAIRS, TEXTS
from ticketlab.tasks.reading.labels import label_name, some
from ticketlab.tasks.reading.split_values import are_flags, are_folds, is_flag, is_split_like, split_of
from ticketlab.tasks.reading.tables import Table

SETTING = "split_column"
SPLITS = ("train", "validation", "test")
_OTHERS = frozenset({*TEXTS, *LABELS, *(name for pair in PAIRS for name in pair)})
"""Names of columns that have a use already."""


@frozen
class Division:
    """The tables by split, without the columns that name splits, and what to say about these."""

    tables: Mapping[str, Table]
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@frozen
class _Column:
    """A column and how many rows of each table have each of its values."""

    name: str
    values: Mapping[str, Counter[str]]
    rows: Counter[str]

    @property
    def splits(self) -> set[str]:
        return {split for value in self.rows if (split := split_of(value))}

    @property
    def foreign(self) -> list[str]:
        """Values that are no names of splits."""
        return [value for value in self.rows if not split_of(value)]

    @property
    def says_splits(self) -> bool:
        return not self.foreign and (is_split_like(self.name) or ("train" in self.splits and len(self.splits) > 1))

    @property
    def shown(self) -> str:
        common = ", ".join(f"{_shown([value])} {count}" for value, count in self.rows.most_common(6))
        return f"column `{self.name}` ({common}{', ...' if len(self.rows) > 6 else ''})"

    def agrees(self) -> bool:
        """Say whether the names of the files say what the column says."""
        return all(split_of(value) == split for split, values in self.values.items() for value in values)


def divide(
    read: Mapping[str, Table],
    asked: str | None = "",
    *,
    named: bool,
    taken: Collection[str] = (),
    keep: Collection[str] = (),
    way: str = f"--set tasks.{SETTING}",
) -> Division:
    """Divide the rows of a file by a column of names of splits; see that in files that are splits already no such column says otherwise.

    ``asked`` is the column, empty to find it, None to go without. ``named`` says that the names of the files tell their splits. Columns
    ``taken`` have another use; those to ``keep`` stay in the tables. ``way`` is what sets ``asked``, for messages.

    Values decide: a column is found if it has nothing but names of splits, training and another among them; one that is called ``split``,
    ``set``, ``fold`` or the like also with one split alone, and it is refused where only some of its values are names of splits.

    :raises DataError: no such column; values that are no names of splits; two columns that divide the rows differently; a column that
        contradicts the names of the files.
    """
    columns = [_column(read, name) for name in _names(read) if name not in taken and _may_say_splits(read, name)]
    found = [column for column in columns if column.says_splits]
    mixed = [column for column in columns if not named and column.splits and column.foreign and is_split_like(column.name)]
    if asked:
        column = _asked(read, asked, taken)
        return _by(read, column, [column, *found], named=named, told=True, keep=keep, way=way)
    if asked is None:
        unused = tuple(f"{column.shown} does not divide the rows, as {SETTING} is none" for column in found + mixed)
        return Division(_without(read, found + mixed, keep), unused)
    source = _source(read)
    if mixed and not found:
        raise DataError(
            f"{source}: {mixed[0].shown} has names of splits, and {_shown(mixed[0].foreign)} beside them; name a split in every row, or "
            f"{way}=none divides the rows without this column"
        )
    if len({_assignment(read, column) for column in found}) > 1:
        raise DataError(
            f"{source}: columns {' and '.join(f'`{column.name}`' for column in found)} divide the rows differently; {way}={found[0].name} "
            f"goes by the first, and {way}=none by neither"
        )
    if found:
        return _by(read, found[0], found, named=named, told=False, keep=keep, way=way)
    return Division(read) if named else _undivided(read, taken)


def _asked(read: Mapping[str, Table], asked: str, taken: Collection[str]) -> _Column:
    source, names = _source(read), _names(read)
    if asked not in names:
        hint = did_you_mean(asked, names)
        listing = f" (the columns are {some(names)})" if "there is" in hint else hint
        raise DataError(f"{source}: {SETTING}: there is no column `{asked}`{listing}")
    if asked in taken:
        raise DataError(f"{source}: {SETTING}: `{asked}` is the text, the label or the id already")
    column = _column(read, asked)
    if column.foreign:
        raise DataError(
            f"{source}: {SETTING}: {column.shown} must have nothing but names of splits (train, validation or dev, test), and has "
            f"{_shown(column.foreign)}"
        )
    return column


def _by(
    read: Mapping[str, Table], column: _Column, found: Sequence[_Column], *, named: bool, told: bool, keep: Collection[str], way: str
) -> Division:
    """Divide by a column, and leave all that were ``found`` out of the tables; ``told`` says that the user named the column."""
    if named and column.agrees():
        return Division(_without(read, found, keep))
    if len(read) > 1 or (named and not told):
        this = f"{way}={column.name} goes by the column, and " if len(read) == 1 else ""
        names = " and ".join(read)
        raise DataError(
            f"{_source(read)}: {column.shown} contradicts the files' names ({names}); {this}{way}=none goes by the files' names"
        )
    (table,) = read.values()
    parts: dict[str, list[Mapping[str, Any]]] = {split: [] for split in SPLITS if split in column.splits}
    for row in table.rows:
        parts[split_of(row.get(column.name)) or ""].append(row)
    tables = {split: evolve(table, source=f"{table.source} ({column.name} {split})", rows=rows) for split, rows in parts.items()}
    otherwise = "" if told else f"; {way}=none divides them without it"
    return Division(_without(tables, found, keep), (f"{column.shown} divides the rows{otherwise}",))


def _undivided(read: Mapping[str, Table], taken: Collection[str]) -> Division:
    """Say which columns look as if they should divide the rows and do not."""
    names = [name for name in _names(read) if name not in taken and (is_split_like(name) or is_flag(name))]
    columns = [_column(read, name) for name in names]
    values = {column.name: set(column.rows) for column in columns}
    write = "does not divide the rows: if it should, write train, validation or test into a column `split`"
    folds = tuple(f"column `{name}` has numbers and {write}" for name in names if are_folds(name, values[name]))
    flags = tuple(f"column `{name}` may say which rows are for training, but {write}" for name in names if are_flags(name, values[name]))
    other = [column for column in columns if column.name.lower() in ("split", "splits", "partition") and len(column.rows) > 1]
    foreign = tuple(
        f"{column.shown} does not divide the rows, as its values are no names of splits that are known: train, validation or dev, test"
        for column in other
        if not are_folds(column.name, values[column.name])
    )
    return Division(read, folds, (*flags, *foreign))


def _may_say_splits(read: Mapping[str, Table], name: str) -> bool:
    """Say whether a column is worth a whole look: its own name tells of splits, or its first value names one."""
    values = (row.get(name) for table in read.values() for row in table.rows)
    return name.lower() not in _OTHERS and (
        is_split_like(name) or split_of(next((one for one in values if one is not None), None)) is not None
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
    return tuple(split_of(row.get(column.name)) for table in read.values() for row in table.rows)


def _names(read: Mapping[str, Table]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for table in read.values() for name in table.columns))


def _source(read: Mapping[str, Table]) -> str:
    return next(iter(read.values())).source


def _shown(values: Sequence[str]) -> str:
    return some([value or "(nothing)" for value in values], 6)


def _without(read: Mapping[str, Table], columns: Sequence[_Column], keep: Collection[str]) -> dict[str, Table]:
    hidden = {column.name for column in columns} - set(keep)
    return {split: evolve(table, columns=tuple(name for name in table.columns if name not in hidden)) for split, table in read.items()}
