"""From the rows of a table to labelled texts; rows that have no text or no label are left out and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from attrs import frozen

from ticketlab.errors import DataError
from ticketlab.tasks.columns import Columns
from ticketlab.tasks.labels import is_unlabelled, label_name
from ticketlab.tasks.tables import Table


@frozen
class Row:
    """One row with all it needs; ``label`` is a name."""

    id: str
    texts: tuple[str, ...]
    label: str


def usable(table: Table, columns: Columns, split: str, dropped: Counter[str], declared: Collection[str] = ()) -> list[Row]:
    """Return the rows with texts and a label, each with its number in the table in its id, and count the others in ``dropped``.

    A declared label counts as one even where its name (``-1``) usually marks a row without label.

    :raises DataError: a column is missing, or holds lists or objects.
    """
    for column in (*columns.texts, columns.label):
        if column not in table.columns:
            raise DataError(f"{table.source}: there is no column `{column}`, which another split has")
    rows = []
    for number, row in enumerate(table.rows):
        try:
            label = label_name(row.get(columns.label))
            texts = tuple(text_of(row.get(column)) for column in columns.texts)
        except TypeError as problem:
            raise DataError(f"{table.source} row {number + 1}: {problem}") from None
        if is_unlabelled(label) and label not in declared:
            dropped["unlabelled"] += 1
        elif None in texts:
            dropped["missing text"] += 1
        elif not all(text and text.strip() for text in texts):
            dropped["empty"] += 1
        else:
            rows.append(Row(f"{split}-{number}", tuple(text for text in texts if text), label))
    return rows


def text_of(value: Any) -> str | None:
    """Return a value as text that a tokenizer takes, None for a missing one.

    :raises TypeError: it is a list or an object.
    """
    if isinstance(value, (list, dict)):
        raise TypeError(f"a text must be a string, not {type(value).__name__}")
    if value is None or value != value:  # nan is the one value that differs from itself
        return None
    return str(value).encode("utf-8", "replace").decode()  # half of a surrogate pair would stop a tokenizer
