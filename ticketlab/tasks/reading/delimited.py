"""Rows of a csv or tsv file: what divides its fields, and whether quotation marks quote or belong to the text.

A way of reading a file counts if under it every row has as many fields as the first line has names.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted
from ticketlab.tasks.reading import quoted
from ticketlab.tasks.reading.content import Parsed
from ticketlab.tasks.reading.header import Line, table

MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "`|`"}
"""What divides fields, and what it is called."""
_LONGEST_FIELD = 2**30
_EXCEL = re.compile(r'"?sep=(.)"?(?:\r\n|\n|\r)')
_QUOTED = re.compile(r'"[^"]*"')
_LINE = re.compile(r"[^\r\n]+")
_WAYS: Mapping[str, Mapping[str, Any]] = {
    "quoted": {"quoting": csv.QUOTE_MINIMAL},
    "escaped": {"quoting": csv.QUOTE_MINIMAL, "doublequote": False, "escapechar": "\\"},
    "plain": {"quoting": csv.QUOTE_NONE},
}
"""Quotation marks quote, and are doubled in a quoted text; or have a backslash there; or are text, as in the files of GLUE."""


@frozen
class Reading:
    """The records of a file in one way of reading it."""

    way: str
    mark: str
    records: Sequence[Line]


def read(file: Path, text: str, natural: str) -> Parsed:
    """Return the rows of a file in which ``natural`` is expected to divide fields.

    :raises DataError: it is malformed (the message has the line), or can be read in two ways that differ.
    """
    excel = _EXCEL.match(text)  # says what divides fields, before the names
    body, line = (text[excel.end() :], 2) if excel else (text, 1)
    found: list[Reading] = []
    problems: list[DataError] = []
    for mark in [excel[1]] if excel else _marks(text, natural):
        try:
            found.append(_reading(file, body, mark, line))
        except DataError as problem:
            problems.append(problem)
        if found and mark == natural:
            break
    if not found:
        raise problems[0]
    if len(found) > 1:
        names = " or ".join(MARKS[reading.mark] for reading in found)
        raise DataError(f"{file}: its fields could be divided by {names}; rename the columns so that the first line has one of these alone")
    (reading,) = found
    if reading.way != "plain":
        quoted.check(file, body, reading.records, reading.mark, line)
    parsed = table(file, reading.records)
    return evolve(parsed, notices=(*_decided(reading, natural, said=bool(excel), quotes='"' in body), *parsed.notices))


def _marks(text: str, natural: str) -> list[str]:
    """Return what may divide fields, by the first line; ``natural`` first if it is there, and alone if nothing is."""
    first = _LINE.search(text)
    bare = _QUOTED.sub("", first[0]) if first else ""
    return sorted((mark for mark in MARKS if mark in bare), key=lambda mark: mark != natural) or [natural]


def _reading(file: Path, text: str, mark: str, line: int) -> Reading:
    """Return the first reading that counts.

    :raises DataError: there is none.
    """
    ways = ["quoted", "escaped"] if '\\"' in text else ["quoted"] if '"' in text else []
    if not ways or mark in quoted.NOT_IN_PROSE:  # other files quote what has such a mark in it
        ways.append("plain")
    problems = []
    for way in ways:
        try:
            return Reading(way, mark, _checked(file, list(_records(file, text, mark, way, line)), mark))
        except DataError as problem:
            problems.append(problem)
    raise problems[-1 if mark in quoted.NOT_IN_PROSE else 0]


def _decided(reading: Reading, natural: str, *, said: bool, quotes: bool) -> Iterator[str]:
    if reading.way == "plain" and quotes:
        yield "quotation marks are read as part of the text: as quotes they are malformed"
    if reading.way == "escaped":
        yield "a backslash before a quotation mark is read as an escape"
    if reading.way == "quoted" and reading.mark == "\t" and any(record.last > record.first for record in reading.records):
        yield "quoted fields go over several lines"
    if not said and reading.mark != natural and (natural, reading.mark) != (",", ";"):
        yield f"its fields are divided by {MARKS[reading.mark]}"


def _records(file: Path, text: str, mark: str, way: str, line: int) -> Iterator[Line]:
    limit = csv.field_size_limit(_LONGEST_FIELD)
    first = line
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True, **_WAYS[way])
    try:
        for fields in reader:
            last = reader.line_num + line - 1
            yield Line(first, last, fields)
            first = last + 1
    except csv.Error as problem:
        raise DataError(f"{file} line {first}: malformed: {problem} (a quotation mark inside a quoted field must be doubled)") from None
    finally:
        csv.field_size_limit(limit)


def _checked(file: Path, records: Sequence[Line], mark: str) -> Sequence[Line]:
    """Return the records that are not blank lines, each as long as the first.

    :raises DataError: one is not; unless all have the same number of empty fields too many.
    """
    width = len(records[0].fields) if records else 0
    kept = [record for record in records if record.fields and not (width > 1 == len(record.fields) and not record.fields[0].strip())]
    widths = {len(record.fields) for record in kept[1:]}
    if len(widths) == 1 and min(widths) > width and not any("".join(record.fields[width:]).strip() for record in kept):
        return [Line(first, last, fields[:width]) for first, last, fields in kept]
    for first, _, fields in kept:
        if len(fields) != width:
            raise DataError(
                f"{file} line {first}: malformed: {counted(len(fields), 'field')} under {counted(width, 'column')} (a "
                f"field with {MARKS.get(mark, mark)} in it must be quoted)"
            )
    return kept
