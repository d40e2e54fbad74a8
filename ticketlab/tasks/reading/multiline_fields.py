"""Checks quoted fields that span several lines: each is one text, or several rows between two stray quotation marks.

``"It opens here<tab>yes`` and, ten lines later, ``and closes there"<tab>no`` are one well-formed row if the marks are quotes. If they are
part of the text, each line is a row.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.header import MOST_CLASSES, Record

DELIMITERS_NOT_IN_PROSE = ("\t", "|")
"""Delimiters that are not punctuation."""


def check_multiline_fields(file: Path, text: str, records: Sequence[Record], mark: str, line: int) -> None:
    """Reject a row that spans several lines if they could be rows themselves. ``line`` is the number of the first line of ``text``.

    With a delimiter that prose does not contain, such as tabs, one line with the right number of fields is enough. With commas, two lines
    are needed, and their classes must occur in other rows too.

    :raises DataError: there is such a row; the message contains its lines.
    """
    long = [record for record in records if record.last > record.first]
    if not long:
        return
    width = len(records[0].fields)
    lines = io.StringIO(text, newline="").readlines()
    classes = _class_columns(records)
    for record in long:
        own = [text_line.rstrip("\r\n").split(mark) for text_line in lines[record.first - line : record.last - line + 1]]
        rows = [fields for fields in own if len(fields) == width > 1]
        if mark in DELIMITERS_NOT_IN_PROSE:
            swallows = len(rows) == len(own) or any(len(fields) == width > 1 for fields in own[1:-1])
        else:
            swallows = bool(classes) and sum(all(fields[place] in known for place, known in classes.items()) for fields in rows) > 1
        if swallows:
            raise DataError(
                f"{file} lines {record.first} to {record.last}: one row if its quotation marks are quotes, several if they are part of the "
                "text; remove the marks, double them inside a quoted field, or write the data as jsonl"
            )


def _class_columns(records: Sequence[Record]) -> Mapping[int, AbstractSet[str]]:
    """Return the distinct values of the columns in which values repeat, from rows on a single line."""
    short = [record.fields for record in records[1:] if record.last == record.first]
    columns = enumerate(set(values) for values in zip(*short, strict=True))
    return {place: values for place, values in columns if 2 * len(values) <= len(short) + 1 and len(values) <= MOST_CLASSES}
