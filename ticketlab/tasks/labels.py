"""Labels by name: what a value of the label column is called, and the order of the names."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ticketlab.errors import DataError, did_you_mean

UNLABELLED = frozenset({"", "-", "-1", "null", "nan"})


def label_name(value: Any) -> str:
    """Return the name of a label value: ``2`` and ``2.0`` are ``"2"``, true is ``"true"``; a missing value is ``""``.

    :raises TypeError: the value is a list or an object.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (str, int, float)):
        return str(value).strip()
    raise TypeError(f"a label must be a name or a number, not {type(value).__name__}")


def is_unlabelled(name: str) -> bool:
    """Say whether this name marks a row without a label, by the customs of GLUE, SNLI and the hub."""
    return name.lower() in UNLABELLED


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names, sorted: by value if all are numbers, else as text."""
    distinct = sorted(set(names))
    try:
        return tuple(sorted(distinct, key=float))
    except ValueError:
        return tuple(distinct)


def settle(source: str, train: Iterable[str], declared: Sequence[str], *, least: int = 2) -> tuple[str, ...]:
    """Return the label names of a task, in the order declared or else sorted.

    :raises DataError: fewer classes than ``least``, or a label outside those declared.
    """
    found = ordered(train)
    for name in found:
        if declared and name not in declared:
            raise DataError(f"{source}: the label `{name}` is not among those declared{did_you_mean(name, declared)}")
    if len(found) < least:
        seen = f"all training rows are labelled `{found[0]}`" if found else "no training row has a label"
        raise DataError(f"{source}: {seen}; a task needs two classes (-1, -, null and nothing mean unlabelled, unless declared as labels)")
    return tuple(declared) or found


def index(source: str, split: str, name: str, train: Collection[str], names: Sequence[str]) -> int:
    """Return the index of a label, which has to be in the training split.

    :raises DataError: the label is in this split and never in training.
    """
    if name not in train:
        raise DataError(f"{source}: the label `{name}` is in {split} but never in train, which has {some(ordered(train))}")
    return names.index(name)


def some(names: Sequence[str], most: int = 12) -> str:
    """Quote names for a message, and only so many of them, none longer than a line."""
    shown = ", ".join(f"`{' '.join(name[:40].split())}`" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
