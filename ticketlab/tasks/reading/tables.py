"""Reads files of any supported kind into tables: the rows of one split as named values. :mod:`.columns` selects the columns.

Text is read unchanged. The readers of pandas are not used, because they turn the review ``NA`` or ``null`` into a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading import arrow_rows, content, delimited, file_kinds, header, json_rows
from ticketlab.tasks.reading.content import ParsedFile
from ticketlab.tasks.reading.layouts import SplitFiles

_LINE_END = re.compile(r"\r\n|\n|\r")


@frozen
class Table:
    """The rows of one split. ``source`` is its name in messages. A missing value is None or absent from its row.

    ``notices`` describe decisions made while reading that the user did not request.
    """

    source: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    notices: tuple[str, ...] = ()


@frozen
class SplitTables:
    """The tables of a data set by split. ``named`` is whether the splits follow from the names of files or of published splits.

    ``notices`` are about the data set as a whole.
    """

    tables: Mapping[str, Table]
    named: bool
    notices: tuple[str, ...] = ()

    @property
    def all_notices(self) -> tuple[str, ...]:
        """The notices about the data set and about each table."""
        return (*self.notices, *(notice for table in self.tables.values() for notice in table.notices))


def read_splits(files: SplitFiles) -> SplitTables:
    """Read the files of each split. Raises the errors of :func:`read_table`."""
    return SplitTables({split: read_table(own) for split, own in files.splits.items()}, files.named, files.notices)


def read_table(files: Sequence[Path], *, prose: bool = False) -> Table:
    """Read the files of one split into one table. A .txt file contains paragraphs if ``prose``, and otherwise a table.

    :raises DataError: a file is malformed (the message contains its name and line), or its columns differ from the first file's; or there
        are no rows.
    """
    rows: list[Mapping[str, Any]] = []
    columns: dict[str, None] = {}
    files_by_notice: dict[str, list[str]] = {}
    for file in files:
        parsed = _read_file(file, prose=prose)
        may_lack_columns = file_kinds.parse_name(file).kind == "json"  # objects omit missing values
        if rows and set(parsed.columns) != set(columns) and not may_lack_columns:
            raise DataError(f"{file}: its columns are {', '.join(parsed.columns)}, but those of {files[0]} are {', '.join(columns)}")
        columns.update(dict.fromkeys(parsed.columns))
        rows.extend(parsed.rows)
        for notice in parsed.notices:
            files_by_notice.setdefault(notice, []).append(file.name)
    source = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    if not rows:
        raise DataError(f"{source}: there are no rows{' below the column names' if columns else ''}")
    notices = (
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {notice}" for notice, names in files_by_notice.items()
    )
    return Table(source, tuple(columns), rows, tuple(notices))


def _read_file(file: Path, *, prose: bool) -> ParsedFile:
    name = file_kinds.parse_name(file)
    data = content.read_bytes(file, name)
    if name.kind in ("parquet", "arrow"):
        return arrow_rows.read(file, data, name.kind)
    text = content.decode_text(file, data)
    if name.kind == "json":
        return json_rows.read(file, text)
    if name.kind == "txt":
        return _parse_lines(text) if prose else _parse_txt_table(file, text)
    if json_rows.looks_like_json(text):
        raise DataError(f"{file}: the content is JSON; rename it to end in .jsonl")
    return delimited.read(file, text, "\t" if name.kind == "tsv" else ",")


def _parse_lines(text: str) -> ParsedFile:
    lines = _LINE_END.split(text)
    return ParsedFile(
        ["text"], [{"text": line} for line in (lines if lines[-1] else lines[:-1])]
    )  # a newline ends the last line, and does not start another


def _parse_txt_table(file: Path, text: str) -> ParsedFile:
    advice = "a task needs a text and a label on each line, separated by a tab or comma, and a first line with the column names"
    if text.startswith("__label__"):
        raise DataError(f"{file}: the format of fastText; {advice}")
    try:
        parsed = delimited.read(file, text, "\t")
    except DataError as problem:
        raise DataError(f"{problem}; {advice}") from None
    first, _, _ = text.partition("\n")
    if len(parsed.columns) == 1 or ("\t" not in first and not any(map(header.is_common_name, parsed.columns))):  # prose has commas too
        raise DataError(f"{file}: lines of text without columns; {advice}")
    return parsed
