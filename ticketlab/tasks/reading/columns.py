"""Infers the text and label columns of a table (csv, jsonl, parquet, hub data), or uses those that the user names.

A column is inferred only if there is a single candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.errors import DataError, nearest
from ticketlab.tasks.reading.labels import describe_type, is_unlabelled, label_name, quote_some
from ticketlab.tasks.reading.tables import Table

PAIRS = (
    ("premise", "hypothesis"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("claim", "evidence"),
    ("text1", "text2"),
    ("text_a", "text_b"),
)
TEXTS = ("text", "sentence", "review", "content", "comment", "tweet", "document", "utterance")
LABELS = ("label", "labels", "gold_label")
MOST_CLASSES = 100


@frozen
class Columns:
    """The columns of a task: one text or a pair, the label, the subsets, and the ids (None: row numbers are used)."""

    texts: tuple[str, ...]
    label: str
    subsets: tuple[str, ...] = ()
    id: str | None = None


def infer_columns(table: Table, texts: Sequence[str] = (), label: str | None = None) -> Columns:
    """Return the requested columns, and infer the others.

    :raises DataError: a column does not exist, or there is not exactly one candidate; the message lists the columns.
    """
    if len(texts) > 2:
        raise DataError(f"{table.source}: a task has one text column or two, not {len(texts)} ({', '.join(texts)})")
    for name, flag in [*((text, "--text-column") for text in texts), *([(label, "--label-column")] if label else [])]:
        if name not in table.columns:
            raise _missing_column(table, flag, name)
    if len({*texts, label}) <= len(texts):
        raise DataError(f"{table.source}: one column cannot be used twice: {_quoted([*texts, *([label] if label else [])])}")
    label = label or _find_by_name(table, LABELS)
    chosen = tuple(texts) or _texts_by_name(table, label)
    label = label or _infer_label(table, chosen)
    return Columns(chosen or _infer_text(table, label), label)


def infer_text_column(table: Table, requested: str | None = None, *, flag: str) -> str:
    """Return the requested text column, or the only candidate. ``flag`` is the name of the setting in messages.

    :raises DataError: the column does not exist, or there is not exactly one candidate; the message lists the columns.
    """
    if requested is None:
        known = _find_by_name(table, TEXTS)
        candidates = [known] if known else [column for column in table.columns if _is_text(table, column)]
        if len(candidates) == 1:
            return candidates[0]
        problem = f"the text could be {' or '.join(f'`{name}`' for name in candidates)}" if candidates else "no text column found"
        raise DataError(f"{table.source}: {problem}; {_request_flag(table, flag)}")
    if requested not in table.columns:
        raise _missing_column(table, flag, requested)
    return requested


def _find_by_name(table: Table, names: Sequence[str]) -> str | None:
    found = [column for name in names for column in table.columns if column.lower() == name]
    return found[0] if len(found) == 1 else None


def _texts_by_name(table: Table, label: str | None) -> tuple[str, ...]:
    """Return the text columns with one of the usual names; empty if there is none."""
    lowered = {column.lower(): column for column in table.columns if column != label}
    pairs = [(lowered[first], lowered[second]) for first, second in PAIRS if first in lowered and second in lowered]
    singles = [(lowered[name],) for name in TEXTS if name in lowered]
    candidates = pairs or singles
    same = [column for column in table.columns if column != label and column.lower() in {name.lower() for name in sum(candidates, ())}]
    if len(candidates) == 1 and len(same) > len(candidates[0]):
        candidates = [(column,) for column in same]
    if len(candidates) > 1:
        names = " or ".join(_quoted(candidate) for candidate in candidates)
        raise DataError(f"{table.source}: the text could be {names}; {_request_flag(table, '--text-column')}")
    return candidates[0] if candidates else ()


def _infer_label(table: Table, texts: Sequence[str]) -> str:
    candidates = [column for column in table.columns if column not in texts and _few_values(table, column)]
    if len(candidates) == 1:
        return candidates[0]
    problem = f"the label could be {' or '.join(f'`{name}`' for name in candidates)}" if candidates else "no label column found"
    raise DataError(f"{table.source}: {problem}; {_request_flag(table, '--label-column')}")


def _infer_text(table: Table, label: str) -> tuple[str, ...]:
    candidates = [column for column in table.columns if column != label and _is_text(table, column)]
    if len(candidates) == 1:
        return (candidates[0],)
    problem = f"the text could be {' or '.join(f'`{name}`' for name in candidates)}" if candidates else "no text column found"
    raise DataError(f"{table.source}: {problem}; {_request_flag(table, '--text-column')}")


def _few_values(table: Table, column: str) -> bool:
    """Return whether a column has at least two distinct values, some of them repeated, and few enough to be classes."""
    try:
        names = [label_name(row.get(column)) for row in table.rows]
    except TypeError:
        return False
    distinct = {name for name in names if not is_unlabelled(name)}
    return 1 < len(distinct) <= MOST_CLASSES and len(distinct) < len(names)


def _is_text(table: Table, column: str) -> bool:
    values = [row.get(column) for row in table.rows]
    return all(isinstance(value, str) for value in values if value is not None) and not all(_is_number(value) for value in values)


def _is_number(value: Any) -> bool:
    if value is None or not str(value).strip():
        return True
    try:
        float(value)
    except ValueError:
        return False
    return True


def column_hint(name: str, columns: Sequence[str]) -> str:
    """Return what to say of a missing column: the nearest name, or all columns in their order."""
    near = nearest(name, columns)
    return f" (the columns are {quote_some(columns)})" if near is None else f"; did you mean `{near}`?"


def _missing_column(table: Table, flag: str, name: str) -> DataError:
    near = nearest(name, table.columns)
    hint = "" if near is None else f"; did you mean `{near}`?"
    return DataError(f"{table.source}: {flag}: there is no column `{name}`{hint} ({_list_columns(table)})")


def _list_columns(table: Table) -> str:
    nested = {name: value for row in table.rows[:1] for name, value in row.items() if isinstance(value, (dict, list))}
    inside = "; ".join(f"`{name}` contains {describe_type(value)}" for name, value in nested.items())
    return f"the columns are {quote_some(table.columns)}" + (f"; {inside}: write its fields into separate columns" if inside else "")


def _request_flag(table: Table, flag: str) -> str:
    return f"name it with {flag} ({_list_columns(table)})"


def _quoted(names: Sequence[str]) -> str:
    return "/".join(f"`{name}`" for name in names)
