"""Parses csv and tsv files: detects the delimiter, and whether quotation marks are quotes or part of the text.

A dialect fits a file if every row has as many fields as the header.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted
from ticketlab.tasks.reading import multiline_fields
from ticketlab.tasks.reading.content import ParsedFile
from ticketlab.tasks.reading.header import Record, parse_table

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "`|`"}
"""The delimiters, with their names in messages."""
_MAX_FIELD_LENGTH = 2**30
_EXCEL_SEP_LINE = re.compile(r'"?sep=(.)"?(?:\r\n|\n|\r)')
_QUOTED = re.compile(r'"[^"]*"')
_LINE = re.compile(r"[^\r\n]+")
_DIALECTS: Mapping[str, Mapping[str, Any]] = {
    "spaced": {"quoting": csv.QUOTE_MINIMAL, "skipinitialspace": True},
    "quoted": {"quoting": csv.QUOTE_MINIMAL},
    "escaped": {"quoting": csv.QUOTE_MINIMAL, "doublequote": False, "escapechar": "\\"},
    "plain": {"quoting": csv.QUOTE_NONE},
}
"""Quotation marks inside quoted text are doubled, with or without spaces before a field, or escaped by a backslash; or quotation marks are
text, as in the files of GLUE."""


@frozen
class ParseAttempt:
    """The records of a file in one dialect, with one delimiter."""

    dialect: str
    delimiter: str
    records: Sequence[Record]


def read(file: Path, text: str, expected: str) -> ParsedFile:
    """Return the rows of a file whose ``expected`` delimiter follows from its name.

    :raises DataError: the file is malformed (the message contains the line), or two delimiters fit.
    """
    excel = _EXCEL_SEP_LINE.match(text)  # names the delimiter, in a line before the header
    body, line = (text[excel.end() :], 2) if excel else (text, 1)
    found: list[ParseAttempt] = []
    problems: list[DataError] = []
    for delimiter in [excel[1]] if excel else _candidate_delimiters(text, expected):
        try:
            found.append(_parse(file, body, delimiter, line))
        except DataError as problem:
            problems.append(problem)
        if found and delimiter == expected:
            break
    if not found:
        raise problems[0]
    if len(found) > 1:
        names = " or ".join(DELIMITERS[attempt.delimiter] for attempt in found)
        raise DataError(f"{file}: the delimiter could be {names}; rename the columns so that the first line contains only one of these")
    (attempt,) = found
    if attempt.dialect != "plain":
        multiline_fields.check_multiline_fields(file, body, attempt.records, attempt.delimiter, line)
    parsed = parse_table(file, attempt.records)
    return evolve(parsed, notices=(*_notices(attempt, expected, declared=bool(excel), quotes='"' in body), *parsed.notices))


def _candidate_delimiters(text: str, expected: str) -> list[str]:
    """Return the delimiters in the first line, ``expected`` first if it is one of them; only ``expected`` if there are none."""
    first = _LINE.search(text)
    unquoted = _QUOTED.sub("", first[0]) if first else ""
    return sorted((mark for mark in DELIMITERS if mark in unquoted), key=lambda mark: mark != expected) or [expected]


def _parse(file: Path, text: str, delimiter: str, line: int) -> ParseAttempt:
    """Return the records in the first dialect that fits.

    :raises DataError: no dialect fits.
    """
    dialects = ["quoted", "escaped"] if '\\"' in text else ["quoted"] if '"' in text else []
    in_prose = delimiter not in multiline_fields.DELIMITERS_NOT_IN_PROSE
    if in_prose and re.search(rf'(?:^|{re.escape(delimiter)}) +"', text, re.MULTILINE):
        dialects.insert(0, "spaced")  # reads what `quoted` does, unless a field begins with a space and a quotation mark
    if not dialects or not in_prose:  # files with delimiters that are common in prose quote text that contains one
        dialects.append("plain")
    problems = []
    for dialect in dialects:
        try:
            return ParseAttempt(dialect, delimiter, _check_widths(file, list(_records(file, text, delimiter, dialect, line)), delimiter))
        except DataError as problem:
            problems.append(problem)
    raise problems[0 if in_prose else -1]


def _notices(attempt: ParseAttempt, expected: str, *, declared: bool, quotes: bool) -> Iterator[str]:
    if attempt.dialect == "plain" and quotes:
        yield "quotation marks are read as part of the text, because as quotes they would be malformed"
    if attempt.dialect == "escaped":
        yield "a backslash before a quotation mark is read as an escape"
    if attempt.dialect == "quoted" and attempt.delimiter == "\t" and any(record.last > record.first for record in attempt.records):
        yield "some quoted fields span several lines"
    if not declared and attempt.delimiter != expected and (expected, attempt.delimiter) != (",", ";"):
        yield f"its fields are separated by {DELIMITERS[attempt.delimiter]}"


def _records(file: Path, text: str, delimiter: str, dialect: str, line: int) -> Iterator[Record]:
    if dialect == "escaped":
        text = _keep_other_backslashes(text, delimiter)
    limit = csv.field_size_limit(_MAX_FIELD_LENGTH)
    first = line
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, **_DIALECTS[dialect])
    try:
        for fields in reader:
            last = reader.line_num + line - 1
            yield Record(first, last, fields)
            first = last + 1
    except csv.Error as problem:
        raise DataError(f"{file} line {first}: malformed: {problem} (a quotation mark inside a quoted field must be doubled)") from None
    finally:
        csv.field_size_limit(limit)


def _keep_other_backslashes(text: str, delimiter: str) -> str:
    r"""Double each backslash that escapes nothing, as in ``C:\temp``: the csv module would remove it."""
    return re.sub(rf'\\(["\\\r\n{re.escape(delimiter)}])|\\', lambda found: found[0] if found[1] else "\\\\", text)


def _check_widths(file: Path, records: Sequence[Record], delimiter: str) -> Sequence[Record]:
    """Return the records without blank lines, each with as many fields as the first.

    Additional empty fields are cut off if all records have the same number of them.

    :raises DataError: a record has another number of fields.
    """
    records = list(itertools.dropwhile(_is_blank, records))
    width = len(records[0].fields) if records else 0
    kept = [record for record in records if record.fields and not (width > 1 and _is_blank(record))]
    widths = {len(record.fields) for record in kept[1:]}
    if len(widths) == 1 and min(widths) > width and not any("".join(record.fields[width:]).strip() for record in kept):
        return [Record(first, last, fields[:width]) for first, last, fields in kept]
    for first, _, fields in kept:
        if len(fields) != width:
            raise DataError(
                f"{file} line {first}: malformed: {counted(len(fields), 'field')} under {counted(width, 'column')} (a "
                f"field with {DELIMITERS.get(delimiter, delimiter)} in it must be quoted)"
            )
    return kept


def _is_blank(record: Record) -> bool:
    """Return whether a record is a line without text or delimiters."""
    return len(record.fields) < 2 and not "".join(record.fields).strip()
