"""Quoted fields of several lines: one text, or rows that a stray quotation mark has swallowed up to the next.

``"It opens here<tab>yes`` and, ten lines on, ``and closes there"<tab>no`` are one well-formed row if the marks quote, and if they do not,
each line is a row.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.header import MOST_CLASSES, Line

NOT_IN_PROSE = ("\t", "|")
"""What divides fields and is no punctuation."""


def check(file: Path, text: str, records: Sequence[Line], mark: str, line: int) -> None:
    """Refuse a row over several lines that are rows by themselves. ``line`` is the number of the first line of ``text``.

    With tabs, these are lines with as many of them as a row has, since no text has. With commas, two lines with the right number of fields
    whose classes occur in other rows too.

    :raises DataError: there is such a row; the message has its lines.
    """
    long = [record for record in records if record.last > record.first]
    if not long:
        return
    width = len(records[0].fields)
    lines = io.StringIO(text, newline="").readlines()
    classes = _classes(records)
    for record in long:
        own = [one.rstrip("\r\n").split(mark) for one in lines[record.first - line : record.last - line + 1]]
        rows = [fields for fields in own if len(fields) == width > 1]
        if mark in NOT_IN_PROSE:
            swallows = len(rows) == len(own) or any(len(fields) == width > 1 for fields in own[1:-1])
        else:
            swallows = bool(classes) and sum(all(fields[place] in known for place, known in classes.items()) for fields in rows) > 1
        if swallows:
            raise DataError(
                f"{file} lines {record.first} to {record.last}: one row if its quotation mark quotes, several if it belongs to the text; "
                "leave the mark out, double it inside a quoted field, or write the data as jsonl"
            )


def _classes(records: Sequence[Line]) -> Mapping[int, AbstractSet[str]]:
    """Return the values of each column in which they repeat, in rows of one line."""
    short = [record.fields for record in records[1:] if record.last == record.first]
    columns = enumerate(set(values) for values in zip(*short, strict=True))
    return {place: values for place, values in columns if 2 * len(values) <= len(short) + 1 and len(values) <= MOST_CLASSES}
