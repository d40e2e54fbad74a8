"""Markdown that means what the text says, whatever is in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ticketlab.core.formatting import printable

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!]|:(?=//)|(?<=www)\.)")


def escape(text: object) -> str:
    """Return a text as one line in which no character has a meaning of its own, in a paragraph or in a table's cell, or is invisible."""
    return SPECIAL.sub(r"\\\1", printable(" ".join(str(text).split())))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table; cells are escaped, and None is a dash."""
    cells = [head, ["---"] * len(head), *([("-" if cell is None else escape(cell)) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
