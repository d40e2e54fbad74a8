"""From the rows of a table to labelled texts; rows that have no text or no label are left out and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted, percent
from ticketlab.tasks.reading.columns import Columns
from ticketlab.tasks.reading.labels import is_unlabelled, kind_of, label_name, some
from ticketlab.tasks.reading.tables import Table
from ticketlab.tasks.reading.text_equality import is_empty

MOST_LOST = 0.02
"""The share of a split's rows without label or text which is left out without a warning."""
_WHY = {"unlabelled": "they have no label", "missing text": "they have no text", "empty": "their text is empty"}


@frozen
class LabelledRow:
    """One row with all it needs; ``label`` is a name."""

    id: str
    texts: tuple[str, ...]
    label: str
    subsets: tuple[str, ...] = ()


@frozen
class Labelling:
    """How to read labels, and what was found.

    Those ``declared`` count as labels even where their name (``-1``) usually marks a row without label; rows with those to ``drop`` are
    left out. ``found`` counts the rows of each label by split, those without a label among them, and ``left_out`` the rows without label
    or text by split and reason; ``absent`` has what marks the rows of a split that was left out, and ``notices`` says which that was.
    """

    declared: Collection[str] = ()
    drop: Collection[str] = ()
    found: dict[str, Counter[str]] = field(factory=dict)
    left_out: dict[str, Counter[str]] = field(factory=dict)
    absent: set[str] = field(factory=set)
    notices: list[str] = field(factory=list)


def usable(table: Table, columns: Columns, split: str, dropped: Counter[str], labelling: Labelling | None = None) -> list[LabelledRow]:
    """Return the rows with texts and a label, and count the others in ``dropped`` and all labels in ``labelling.found``.

    Without a column of ids, a row's number in the table is in its id.

    :raises DataError: a column is missing, or holds lists or objects; an id is empty.
    """
    labelling = labelling or Labelling()
    for column in (*columns.texts, columns.label):
        if column not in table.columns:
            raise DataError(
                f"{table.source}: there is no column `{column}`, which another split has (the columns are {some(table.columns)})"
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
        if label in labelling.drop:
            lost[f"labelled `{label}`"] += 1
        elif is_unlabelled(label) and label not in labelling.declared:
            lost["unlabelled"] += 1
        elif None in texts:
            lost["missing text"] += 1
        elif any(is_empty(text) for text in texts if text is not None):
            lost["empty"] += 1
        elif not identity.strip():
            raise DataError(f"{table.source} row {number + 1}: the id in column `{columns.id}` is empty: {identity!r}")
        else:
            rows.append(LabelledRow(identity, tuple(text for text in texts if text), label, subsets))
    labelling.found[split], labelling.left_out[split] = names, lost
    dropped.update(lost)
    return rows


def usable_splits(
    read: Mapping[str, Table], columns: Columns, dropped: Counter[str], labelling: Labelling | None = None
) -> dict[str, list[LabelledRow]]:
    """Return the usable rows of each split. A test split without labels counts as absent where there are others.

    :raises DataError: as :func:`usable`.
    """
    labelling = labelling or Labelling()
    splits = {}
    for split, table in read.items():
        may_be_absent = split == "test" and len(read) > 1
        without = f"the {split} split ({counted(len(table.rows), 'row')}) has no labels and is left out"
        if may_be_absent and columns.label not in table.columns:
            labelling.notices.append(without)
            continue
        here: Counter[str] = Counter()
        rows = usable(table, columns, split, here, labelling)
        markers = {name for name in labelling.found[split] if is_unlabelled(name) and name not in labelling.declared}
        if may_be_absent and labelling.found[split].keys() <= markers:
            labelling.absent.update(labelling.found.pop(split))
            del labelling.left_out[split]
            labelling.notices.append(without)
            continue
        dropped.update(here)
        splits[split] = rows
    return splits


def losses(labelling: Labelling) -> tuple[list[str], list[str]]:
    """Return what to say of the rows that were left out, as notices and warnings: of which split, how many, which share, and why.

    More than :data:`MOST_LOST` of a split is a warning, unless it is labels that the user had left out.
    """
    notices: list[str] = []
    warnings: list[str] = []
    for split, reasons in labelling.left_out.items():
        total = labelling.found[split].total()
        of = counted(total, "row") + (f" of {split}" if len(labelling.left_out) > 1 else "")
        for reason, number in reasons.items():
            asked = reason.startswith("labelled ")
            said = notices if asked or number <= MOST_LOST * total else warnings
            said.append(f"{number} of {of} ({percent(number / total)}) left out: {reason if asked else _WHY[reason]}")
    return notices, warnings


def check_ids(source: str, column: str, splits: Mapping[str, Sequence[LabelledRow]]) -> None:
    """Refuse an id that two rows have, of one split or of two.

    :raises DataError: the message has the id.
    """
    seen: dict[str, str] = {}
    for split, rows in splits.items():
        for row in rows:
            if row.id in seen:
                where = f"two rows of {split}" if seen[row.id] == split else f"a row of {seen[row.id]} and of one of {split}"
                raise DataError(
                    f"{source}: `{row.id}` in column `{column}` is the id of {where}; an id must be unique, over all splits together"
                )
            seen[row.id] = split


def text_of(value: Any) -> str | None:
    """Return a value as text that a tokenizer takes, None for a missing one.

    :raises TypeError: it is a list, an object or bytes that are no text.
    """
    if isinstance(value, (list, dict, bytes)):
        raise TypeError(f"a text must be a string, not {kind_of(value)}; write what is the text into a column of its own")
    if value is None or value != value:  # nan is the one value that differs from itself
        return None
    return str(value).encode("utf-8", "replace").decode()  # half of a surrogate pair would stop a tokenizer


def value_of(value: Any, what: str) -> str:
    """Return a value as it stands, a number as :func:`~ticketlab.tasks.reading.labels.label_name` writes it; a missing value is empty.

    :raises TypeError: it is a list, an object or bytes that are no text; ``what`` is what to call it.
    """
    if isinstance(value, (list, dict, bytes)):
        raise TypeError(f"{what} must be a text or a number, not {kind_of(value)}")
    return text_of(value if isinstance(value, str) else label_name(value)) or ""
