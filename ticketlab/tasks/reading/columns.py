"""Which columns hold the texts and the label: as told, or inferred where only one reading is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.tasks.reading.labels import is_unlabelled, kind_of, label_name, some
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
    """The columns of a task: one text or a pair, the label, those that name subsets, and that of the ids (none: the number of the row)."""

    texts: tuple[str, ...]
    label: str
    subsets: tuple[str, ...] = ()
    id: str | None = None


def choose(table: Table, texts: Sequence[str] = (), label: str | None = None) -> Columns:
    """Return the columns asked for; infer those that were not.

    :raises DataError: a column that isn't there, or more than one reading; the message lists the columns.
    """
    if len(texts) > 2:
        raise DataError(f"{table.source}: a task has one text column or a pair, not {len(texts)} ({', '.join(texts)})")
    for name, flag in [*((text, "--text-column") for text in texts), *([(label, "--label-column")] if label else [])]:
        if name not in table.columns:
            hint = did_you_mean(name, table.columns)
            listing = "" if "there is" in hint else f" ({_found(table)})"
            raise DataError(f"{table.source}: {flag}: there is no column `{name}`{hint}{listing}")
    if len({*texts, label}) <= len(texts):
        raise DataError(f"{table.source}: one column cannot serve twice: {_quoted([*texts, *([label] if label else [])])}")
    label = label or _known(table, LABELS)
    chosen = tuple(texts) or _known_texts(table, label)
    label = label or _label(table, chosen)
    return Columns(chosen or _only_string(table, label), label)


def choose_text(table: Table, asked: str | None = None, *, flag: str) -> str:
    """Return the one column of text asked for, or the only one that there can be; ``flag`` is what messages call the setting.

    :raises DataError: it isn't there, or there is more than one reading; the message lists the columns.
    """
    if asked is None:
        known = _known(table, TEXTS)
        candidates = [known] if known else [column for column in table.columns if _is_text(table, column)]
        if len(candidates) == 1:
            return candidates[0]
        problem = f"the text could be {' or '.join(f'`{name}`' for name in candidates)}" if candidates else "there is no text column"
        raise DataError(f"{table.source}: {problem}; {_ask(table, flag)}")
    if asked not in table.columns:
        raise DataError(f"{table.source}: {flag}: there is no column `{asked}`{did_you_mean(asked, table.columns)} ({_found(table)})")
    return asked


def _known(table: Table, names: Sequence[str]) -> str | None:
    found = [column for name in names for column in table.columns if column.lower() == name]
    return found[0] if len(found) == 1 else None


def _known_texts(table: Table, label: str | None) -> tuple[str, ...]:
    """Return the text columns if their names say so, nothing if none does."""
    lowered = {column.lower(): column for column in table.columns if column != label}
    pairs = [(lowered[first], lowered[second]) for first, second in PAIRS if first in lowered and second in lowered]
    singles = [(lowered[name],) for name in TEXTS if name in lowered]
    readings = pairs or singles
    if len(readings) > 1:
        raise DataError(
            f"{table.source}: the text could be {' or '.join(_quoted(reading) for reading in readings)}; {_ask(table, '--text-column')}"
        )
    return readings[0] if readings else ()


def _label(table: Table, texts: Sequence[str]) -> str:
    candidates = [column for column in table.columns if column not in texts and _few_values(table, column)]
    if len(candidates) == 1:
        return candidates[0]
    problem = f"the label could be {' or '.join(f'`{name}`' for name in candidates)}" if candidates else "there is no label column"
    raise DataError(f"{table.source}: {problem}; {_ask(table, '--label-column')}")


def _only_string(table: Table, label: str) -> tuple[str, ...]:
    candidates = [column for column in table.columns if column != label and _is_text(table, column)]
    if len(candidates) == 1:
        return (candidates[0],)
    problem = f"the text could be {' or '.join(f'`{name}`' for name in candidates)}" if candidates else "there is no text column"
    raise DataError(f"{table.source}: {problem}; {_ask(table, '--text-column')}")


def _few_values(table: Table, column: str) -> bool:
    """Say whether a column has at least two values, and few enough that they must be classes: some of them repeat."""
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


def _found(table: Table) -> str:
    nested = {name: value for row in table.rows[:1] for name, value in row.items() if isinstance(value, (dict, list))}
    inside = "; ".join(f"`{name}` holds {kind_of(value)}" for name, value in nested.items())
    return f"the columns are {some(table.columns)}" + (f"; {inside}: write what is in it into columns of its own" if inside else "")


def _ask(table: Table, flag: str) -> str:
    return f"say which with {flag} ({_found(table)})"


def _quoted(names: Sequence[str]) -> str:
    return "/".join(f"`{name}`" for name in names)
