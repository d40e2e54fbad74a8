"""The first line of a csv or tsv file: the names of its columns, and what is no row although it looks like one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.content import Parsed

_NAMES = re.compile(
    r"(?:\w+[_-])?(?:text|sentence|question|review|content|comment|tweet|document|utterance)s?(?:_?[12ab])?|"
    r"id|idx|index|premise|hypothesis|context|claim|evidence|title|body|message|labels?|class|category|target|sentiment|stars|rating|score|split|source|date",
    re.IGNORECASE,
)
"""Names of columns that no cell of data consists of: a first line with one of them is a header."""
MOST_CLASSES = 100
_DIVIDED = re.compile(r"[,;\t|]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")


class Line(NamedTuple):
    """A row of a file as it stands, and the first and last line that it is on."""

    first: int
    last: int
    fields: list[str]


def table(file: Path, records: Sequence[Line]) -> Parsed:
    """Return the rows under their names.

    Left out, with a notice: a column without name that counts the rows of several tables, and the first line where it comes again. Left out
    without: empty columns without name, and empty rows at the end.

    :raises DataError: the first line does not name the columns.
    """
    if not records:
        return Parsed((), ())
    header, *body = records
    while body and not "".join(body[-1].fields).strip():
        body.pop()
    again = [record.first for record in body if _repeats(header, record)]
    if again:
        body = [record for record in body if not _repeats(header, record)]
    columns = list(zip(*(record.fields for record in body), strict=True)) or [()] * len(header.fields)
    names = _names(file, header, columns)
    _refuse_data(file, header, columns)
    more = f" and {len(again) - 1} more" if len(again) > 1 else ""
    notices = [f"line {again[0]}{more} repeats the names of the columns, and is left out"] if again else []
    kept = [place for place, name in enumerate(names) if name]
    for place in kept[:]:
        if is_index(names[place], columns[place]):
            kept.remove(place)
            notices.append(f"the column `{names[place]}`, an index that repeats, is left out")
    if len(kept) == len(names):
        rows = [dict(zip(names, record.fields, strict=True)) for record in body]
    else:
        rows = [{names[place]: record.fields[place] for place in kept} for record in body]
    return Parsed([names[place] for place in kept], rows, tuple(notices))


def is_usual(name: str) -> bool:
    """Say whether this is what columns of texts and labels are often called."""
    return bool(_NAMES.fullmatch(name))


def is_index(name: str, values: Collection[object]) -> bool:
    """Say whether a column is the index of several tables put together: it numbers rows, and some have the same number."""
    return bool(_INDEX.fullmatch(name)) and len(set(values)) < len(values) and all(str(value).isdecimal() for value in values)


def _repeats(header: Line, record: Line) -> bool:
    """Say whether a row has the names of the columns, upper and lower case aside."""
    return all(own.strip().casefold() == name.strip().casefold() for own, name in zip(record.fields, header.fields, strict=True))


def _names(file: Path, header: Line, columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the names; empty for an empty column without one."""
    names = [name.strip() for name in header.fields]
    if not any(names):
        raise DataError(f"{file} line {header.first}: it is empty, and must name the columns")
    for place, name in enumerate(names):
        if not name and any(value.strip() for value in columns[place]):
            names[place] = f"Unnamed: {place}"
    named = [name for name in names if name]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{file} line {header.first}: two columns are named `{twice}`; the first line must name the columns")
    if len(names) == 1 and _DIVIDED.search(names[0]) and all(map(_DIVIDED.search, columns[0])):
        raise DataError(f"{file} line {header.first}: each line is in quotation marks as a whole; leave these out")
    return names


def _refuse_data(file: Path, header: Line, columns: Sequence[Sequence[str]]) -> None:
    """Refuse a first line that is a row of data: one of its fields is a class, or a number over numbers."""
    names = [name.strip() for name in header.fields]
    if any(map(is_usual, names)):
        return
    numbers = [name for name in names if _is_number(name)]
    if len(numbers) > 1 and numbers == [str(number) for number in range(len(numbers))]:
        return  # as pandas names columns
    for name, values in zip(names, columns, strict=True):
        if name and values and ((name in numbers and all(map(_is_number, values))) or _is_class(name, values)):
            shown = ", ".join(f"`{' '.join(one.split())[:30]}`" for one in names[:4])
            raise DataError(
                f"{file} line {header.first}: it seems to be data, not names of columns ({shown}); put a first line with names there, "
                "such as text and label"
            )


def _is_class(name: str, values: Sequence[str]) -> bool:
    return name in values and len(set(values)) < min(len(values), MOST_CLASSES)


def _is_number(value: str) -> bool:
    return bool(_NUMBER.fullmatch(value.strip()))
