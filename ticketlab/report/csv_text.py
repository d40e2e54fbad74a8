"""Values as cells of a csv file that people may open in a spreadsheet."""

from __future__ import annotations

from ticketlab.core.formatting import printable

FORMULA = ("=", "+", "-", "@")
"""A spreadsheet takes a cell that begins with one of these for a formula, and computes it."""


def csv_cell(value: str | float | None) -> str | int | float:
    """Return the cell of a value: text that looks like a formula has an apostrophe before it, unless it is a number.

    Labels come from users and from files of others; a spreadsheet would run ``=HYPERLINK(...)``. Invisible characters such as tabs and
    carriage returns, which spreadsheets skip, are escaped. Numbers are unchanged.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    text = printable(value, lines=True)
    return f"'{text}" if text.lstrip().startswith(FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
