"""Converts the rows of a table to labelled texts; drops and counts rows without text or label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted, percent
from ticketlab.tasks.reading.columns import Columns
from ticketlab.tasks.reading.labels import describe_type, is_unlabelled, label_name, quote_some
from ticketlab.tasks.reading.tables import Table
from ticketlab.tasks.reading.text_equality import is_empty

MAX_DROPPED_SHARE = 0.02
"""Up to this share of a split's rows, rows without label or text are dropped with a notice instead of a warning."""
_REASONS = {"unlabelled": "they have no label", "missing text": "they have no text", "empty": "their text is empty"}


@frozen
class LabelledRow:
    """A row with texts and the name of its label."""

    id: str
    texts: tuple[str, ...]
    label: str
    subsets: tuple[str, ...] = ()


@frozen
class LabelTally:
    """Labels to accept or drop, and counts made while reading rows.

    ``declared`` labels are accepted even if the name (``-1``) usually marks unlabelled rows; rows with a label in ``drop`` are dropped.
    ``counts`` has the rows of each label by split, including unlabelled rows, and ``dropped`` the dropped rows by split and reason. If an
    unlabelled test split is ignored, ``ignored_markers`` has the values in its label column, and ``notices`` a message about it.
    """

    declared: Collection[str] = ()
    drop: Collection[str] = ()
    counts: dict[str, Counter[str]] = field(factory=dict)
    dropped: dict[str, Counter[str]] = field(factory=dict)
    ignored_markers: set[str] = field(factory=set)
    notices: list[str] = field(factory=list)


def labelled_rows(table: Table, columns: Columns, split: str, dropped: Counter[str], tally: LabelTally | None = None) -> list[LabelledRow]:
    """Return the rows with texts and a label; count the others in ``dropped``, and all labels in ``tally.counts``.

    Without an id column, ids consist of the split and the row number.

    :raises DataError: a column is missing, or contains lists or objects; an id is empty.
    """
    tally = tally or LabelTally()
    for column in (*columns.texts, columns.label):
        if column not in table.columns:
            raise DataError(
                f"{table.source}: there is no column `{column}`, which another split has (the columns are {quote_some(table.columns)})"
            )
    rows = []
    names: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for number, row in enumerate(table.rows):
        try:
            label = label_name(row.get(columns.label))
            texts = tuple(text_of(row.get(column)) for column in columns.texts)
            subsets = tuple(value_of(row.get(column), "a subset") for column in columns.subsets)
            identity = f"{split}-{number}" if columns.id is None else value_of(row.get(columns.id), "an id")
        except TypeError as problem:
            raise DataError(f"{table.source} row {number + 1}: {problem}") from None
        names[label] += 1
        if label in tally.drop:
            lost[f"labelled `{label}`"] += 1
        elif is_unlabelled(label) and label not in tally.declared:
            lost["unlabelled"] += 1
        elif None in texts:
            lost["missing text"] += 1
        elif any(is_empty(text) for text in texts if text is not None):
            lost["empty"] += 1
        elif not identity.strip():
            raise DataError(f"{table.source} row {number + 1}: the id in column `{columns.id}` is empty: {identity!r}")
        else:
            rows.append(LabelledRow(identity, tuple(text for text in texts if text), label, subsets))
    tally.counts[split], tally.dropped[split] = names, lost
    dropped.update(lost)
    return rows


def labelled_rows_by_split(
    read: Mapping[str, Table], columns: Columns, dropped: Counter[str], tally: LabelTally | None = None
) -> dict[str, list[LabelledRow]]:
    """Return the labelled rows of each split. An unlabelled test split is ignored if there are other splits.

    :raises DataError: see :func:`labelled_rows`.
    """
    tally = tally or LabelTally()
    splits = {}
    for split, table in read.items():
        may_be_absent = split == "test" and len(read) > 1
        ignored = f"the {split} split ({counted(len(table.rows), 'row')}) has no labels and is ignored"
        if may_be_absent and columns.label not in table.columns:
            tally.notices.append(ignored)
            continue
        here: Counter[str] = Counter()
        rows = labelled_rows(table, columns, split, here, tally)
        markers = {name for name in tally.counts[split] if is_unlabelled(name) and name not in tally.declared}
        if may_be_absent and tally.counts[split].keys() <= markers:
            tally.ignored_markers.update(tally.counts.pop(split))
            del tally.dropped[split]
            tally.notices.append(ignored)
            continue
        dropped.update(here)
        splits[split] = rows
    return splits


def describe_dropped_rows(tally: LabelTally) -> tuple[list[str], list[str]]:
    """Return notices and warnings about the dropped rows: the split, their number, their share, and the reason.

    More than :data:`MAX_DROPPED_SHARE` of a split is a warning, unless the user asked to drop the label.
    """
    notices: list[str] = []
    warnings: list[str] = []
    for split, reasons in tally.dropped.items():
        total = tally.counts[split].total()
        of = counted(total, "row") + (f" of {split}" if len(tally.dropped) > 1 else "")
        for reason, number in reasons.items():
            requested = reason.startswith("labelled ")
            messages = notices if requested or number <= MAX_DROPPED_SHARE * total else warnings
            messages.append(f"{number} of {of} ({percent(number / total)}) dropped: {reason if requested else _REASONS[reason]}")
    return notices, warnings


def check_ids(source: str, column: str, splits: Mapping[str, Sequence[LabelledRow]]) -> None:
    """Check that ids are unique across all splits.

    :raises DataError: two rows have the same id; the message contains it.
    """
    seen: dict[str, str] = {}
    for split, rows in splits.items():
        for row in rows:
            if row.id in seen:
                where = f"two rows of {split}" if seen[row.id] == split else f"a row of {seen[row.id]} and of one of {split}"
                raise DataError(f"{source}: `{row.id}` in column `{column}` is the id of {where}; ids must be unique across all splits")
            seen[row.id] = split


def text_of(value: Any) -> str | None:
    """Return a value as text that a tokenizer accepts, None for a missing value.

    :raises TypeError: it is a list, an object or bytes that are not text.
    """
    if isinstance(value, (list, dict, bytes)):
        raise TypeError(f"a text must be a string, not {describe_type(value)}; write the text into a separate column")
    if value is None or value != value:  # only NaN differs from itself
        return None
    return str(value).encode("utf-8", "replace").decode()  # tokenizers fail on lone surrogates


def value_of(value: Any, what: str) -> str:
    """Return a value as text, a number as :func:`~ticketlab.tasks.reading.labels.label_name` formats it; empty for a missing value.

    :raises TypeError: it is a list, an object or bytes that are not text; the message calls it ``what``.
    """
    if isinstance(value, (list, dict, bytes)):
        raise TypeError(f"{what} must be a string or a number, not {describe_type(value)}")
    return text_of(value if isinstance(value, str) else label_name(value)) or ""
