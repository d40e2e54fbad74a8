"""Reads the files of one split as rows of named values, and says where a file is malformed.

Text is taken as it stands: the readers of pandas turn a review that says ``NA`` or ``null`` into a missing value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading import arrow_rows, content, delimited, file_kinds, header, json_rows
from ticketlab.tasks.reading.content import Parsed
from ticketlab.tasks.reading.layouts import Found


@frozen
class Table:
    """Rows of one split. ``source`` is what to call it in messages; a missing value is None or absent from its row.

    ``notices`` say what was decided while reading that the user did not ask for.
    """

    source: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    notices: tuple[str, ...] = ()


@frozen
class Splits:
    """The tables of a data set by split; ``named`` tells whether names of files or of published splits say which is which.

    ``notices`` are those about the data set as a whole.
    """

    tables: Mapping[str, Table]
    named: bool
    notices: tuple[str, ...] = ()

    @property
    def said(self) -> tuple[str, ...]:
        """All that was decided while reading."""
        return (*self.notices, *(notice for table in self.tables.values() for notice in table.notices))


def read_splits(found: Found, *, prose: bool = False) -> Splits:
    """Read the files of each split. Raises as :func:`read`."""
    return Splits({split: read(files, prose=prose) for split, files in found.splits.items()}, found.named, found.notices)


def read(files: Sequence[Path], *, prose: bool = False) -> Table:
    """Read the files of one split into one table. A .txt file is one of paragraphs for ``prose``, and a table of tabs otherwise.

    :raises DataError: a file is malformed (the message has its name and line), or has other columns than the first; or there is no row.
    """
    rows: list[Mapping[str, Any]] = []
    columns: dict[str, None] = {}
    said: dict[str, list[str]] = {}
    for file in files:
        found = _read(file, prose=prose)
        if (
            rows and set(found.columns) != set(columns) and file_kinds.parts(file).kind != "json"
        ):  # an object may lack what is missing in it
            raise DataError(f"{file}: its columns are {', '.join(found.columns)}, and those of {files[0]} {', '.join(columns)}")
        columns.update(dict.fromkeys(found.columns))
        rows.extend(found.rows)
        for notice in found.notices:
            said.setdefault(notice, []).append(file.name)
    source = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    if not rows:
        raise DataError(f"{source}: there are no rows{' below the names of the columns' if columns else ' in it'}")
    notices = (f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {notice}" for notice, names in said.items())
    return Table(source, tuple(columns), rows, tuple(notices))


def _read(file: Path, *, prose: bool) -> Parsed:
    name = file_kinds.parts(file)
    found = content.read(file, name)
    if name.kind in ("parquet", "arrow"):
        return arrow_rows.read(file, found, name.kind)
    text = content.text(file, found)
    if name.kind == "json":
        return json_rows.read(file, text)
    if name.kind == "txt":
        return _lines(text) if prose else _table_of_text(file, text)
    if json_rows.begins(text):
        raise DataError(f"{file}: by its content it is JSON; rename it to end in .jsonl")
    return delimited.read(file, text, "\t" if name.kind == "tsv" else ",")


def _lines(text: str) -> Parsed:
    lines = text.split("\n")
    return Parsed(["text"], [{"text": line} for line in (lines if lines[-1] else lines[:-1])])  # a newline ends the last line


def _table_of_text(file: Path, text: str) -> Parsed:
    advice = "a task needs a text and a label on each line, with tabs or commas between them, below their names"
    if text.startswith("__label__"):
        raise DataError(f"{file}: the format of fastText; {advice}")
    try:
        found = delimited.read(file, text, "\t")
    except DataError as problem:
        raise DataError(f"{problem}; {advice}") from None
    first, _, _ = text.partition("\n")
    if len(found.columns) == 1 or ("\t" not in first and not any(map(header.is_usual, found.columns))):  # prose has commas too
        raise DataError(f"{file}: lines of text without columns; {advice}")
    return found
