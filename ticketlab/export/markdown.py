"""Markdown from arbitrary text, escaped so that it is displayed literally."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ticketlab.core.formatting import printable

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!]|:(?=//)|(?<=www)\.)")


def escape(text: object) -> str:
    """Return text as one line without Markdown markup or invisible characters, for a paragraph or a cell of a table."""
    return SPECIAL.sub(r"\\\1", printable(" ".join(str(text).split())))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table. Cells are escaped; None is shown as a dash."""
    cells = [head, ["---"] * len(head), *([("-" if cell is None else escape(cell)) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
