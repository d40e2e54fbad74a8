"""Interprets the first line of a csv or tsv file as column names, and drops lines and columns that hold no data."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.content import BYTE_ORDER_MARK, ParsedFile

_NAMES = re.compile(
    r"(?:\w+[_-])?(?:text|sentence|question|review|content|comment|tweet|document|utterance)s?(?:_?[12ab])?|"
    r"id|idx|index|premise|hypothesis|context|claim|evidence|title|body|message|labels?|class|category|target|sentiment|stars|rating|score|split|source|date",
    re.IGNORECASE,
)
"""Typical column names, which are never the content of a cell: a first line with one of them is a header."""
MOST_CLASSES = 100
_DIVIDED = re.compile(r"[,;\t|]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")


class Record(NamedTuple):
    """The fields of a row of a file, and the numbers of its first and last line."""

    first: int
    last: int
    fields: list[str]


def parse_table(file: Path, records: Sequence[Record]) -> ParsedFile:
    """Return the rows with their column names.

    Repetitions of the header, and an unnamed index column with repeated values, are dropped with a notice. Empty columns without a name
    and empty rows at the end are dropped without one.

    :raises DataError: the first line does not name the columns.
    """
    if not records:
        return ParsedFile((), ())
    header, *body = records
    while body and not "".join(body[-1].fields).strip():
        body.pop()
    repeated = [record.first for record in body if _repeats(header, record)]
    if repeated:
        body = [record for record in body if not _repeats(header, record)]
    columns = list(zip(*(record.fields for record in body), strict=True)) or [()] * len(header.fields)
    names = _names(file, header, columns)
    _refuse_data(file, header, columns)
    more = f" and {len(repeated) - 1} more" if len(repeated) > 1 else ""
    notices = [f"line {repeated[0]}{more} repeats the column names and is ignored"] if repeated else []
    kept = [place for place, name in enumerate(names) if name]
    for place in kept[:]:
        if is_index(names[place], columns[place]):
            kept.remove(place)
            notices.append(f"the column `{names[place]}`, an index with repeated values, is ignored")
    if len(kept) == len(names):
        rows = [dict(zip(names, record.fields, strict=True)) for record in body]
    else:
        rows = [{names[place]: record.fields[place] for place in kept} for record in body]
    return ParsedFile([names[place] for place in kept], rows, tuple(notices))


def is_common_name(name: str) -> bool:
    """Return whether this is a typical column name."""
    return bool(_NAMES.fullmatch(name))


def is_index(name: str, values: Collection[object]) -> bool:
    """Return whether a column is the index of several concatenated tables: it numbers the rows, and numbers repeat."""
    return bool(_INDEX.fullmatch(name)) and len(set(values)) < len(values) and all(str(value).isdecimal() for value in values)


def _repeats(header: Record, record: Record) -> bool:
    """Return whether a row consists of the column names, ignoring case, and the byte-order mark of a file that was appended."""
    names = [name.strip().casefold() for name in header.fields]
    return [own.strip().lstrip(BYTE_ORDER_MARK).strip().casefold() for own in record.fields] == names


def _names(file: Path, header: Record, columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the column names; an empty string for an empty column without a name."""
    names = [name.strip() for name in header.fields]
    if not any(names):
        raise DataError(f"{file} line {header.first}: the line is empty, but must name the columns")
    for place, name in enumerate(names):
        if not name and any(value.strip() for value in columns[place]):
            names[place] = f"Unnamed: {place}"
    named = [name for name in names if name]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{file} line {header.first}: two columns are named `{twice}`; the first line must name the columns")
    if len(names) == 1 and _DIVIDED.search(names[0]) and all(map(_DIVIDED.search, columns[0])):
        raise DataError(f"{file} line {header.first}: each line as a whole is in quotation marks; remove them")
    return names


def _refuse_data(file: Path, header: Record, columns: Sequence[Sequence[str]]) -> None:
    """Reject a first line that is a row of data: one of its fields is a class, or a number above numbers."""
    names = [name.strip() for name in header.fields]
    if any(map(is_common_name, names)):
        return
    numbers = [name for name in names if _is_number(name)]
    if len(numbers) > 1 and numbers == [str(number) for number in range(len(numbers))]:
        return  # the default column names of pandas
    for name, values in zip(names, columns, strict=True):
        if name and values and ((name in numbers and all(map(_is_number, values))) or _is_class(name, values)):
            shown = ", ".join(f"`{' '.join(name.split())[:30]}`" for name in names[:4])
            raise DataError(
                f"{file} line {header.first}: it seems to be data, not column names ({shown}); add a first line with names, "
                "such as text and label"
            )


def _is_class(name: str, values: Sequence[str]) -> bool:
    return name in values and len(set(values)) < min(len(values), MOST_CLASSES)


def _is_number(value: str) -> bool:
    return bool(_NUMBER.fullmatch(value.strip()))
