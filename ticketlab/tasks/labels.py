"""Labels by name: what a value of the label column is called, and the order of the names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ticketlab.errors import DataError, did_you_mean
from ticketlab.wording import counted

UNLABELLED = frozenset({"", "-", "-1", "null", "nan"})
MISSING = frozenset({"", "nan"})
"""Of these, what is never the name of a class."""
MOST_MARKED = 0.02
MULTI_LABEL = (
    "several labels a row need a multi-label objective, with an output of its own for each label, which ticketlab does not have; keep one "
    "label a row, or write a column of 0 and 1 for each label and run a task for each (--label-column)"
)


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
    if isinstance(value, list):
        raise TypeError(f"the label is a list: {MULTI_LABEL}")
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


def check_markers(source: str, found: Mapping[str, Counter[str]], declare: str, drop: str) -> list[str]:
    """Refuse labels that usually mark a row without label where they may be a class; return a notice of those that are left out.

    ``found`` are the rows of every label by split, those without a label among them; ``declare`` and ``drop`` are what says that a label is
    a class, or is none. A marker may be a class where more than two rows in a hundred of a split have it (SNLI, 1.8), and where another
    label is of its kind: another negative number beside ``-1``, a plus beside ``-``. Beside names alone ``-1`` is none.

    :raises DataError: there is such a marker.
    """
    names = {name for counts in found.values() for name in counts}
    notices = []
    for marker in sorted(name for name in names if is_unlabelled(name) and name.lower() not in MISSING):
        others = {name for name in names if not is_unlabelled(name)}
        values = [value for name in others if (value := number(name)) is not None]
        share = max(counts[marker] / counts.total() for counts in found.values() if counts)
        alike = any(value < 0 for value in values) if marker == "-1" else marker == "-" and "+" in others
        rows = counted(sum(counts[marker] for counts in found.values()), "row")
        if alike or (share > MOST_MARKED and (values if marker == "-1" else others)):
            beside = f"beside {some(ordered(others))}; up to {100 * share:.1f} % of a split"
            raise DataError(
                f"{source}: {rows} labelled `{marker}` ({beside}): that may be a class, or mean that a row has no label; {drop}{marker} "
                f"leaves these rows out, and {declare}, given for every label, makes it a class"
            )
        notices.append(f"{rows} labelled `{marker}` left out as without a label; {declare}, given for every label, would make it a class")
    return notices


def number(name: str) -> float | None:
    """Return the value of a name that is a finite number, also as a percentage or with a decimal comma."""
    text = name.strip().removesuffix("%").rstrip()
    if re.fullmatch(r"[+-]?\d*,\d+", text):
        text = text.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


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


def check_positive(source: str, positive: str | None, names: Sequence[str]) -> None:
    """Refuse a positive label that is none of the label names, or of more than two.

    :raises DataError: it is.
    """
    if positive is None:
        return
    if positive not in names:
        raise DataError(f"{source}: positive_label: there is no label `{positive}`{did_you_mean(positive, names)}")
    if len(names) > 2:
        raise DataError(
            f"{source}: positive_label: the binary F1 is of two labels, and there are {len(names)} ({some(names)}); leave it out: macro_f1 "
            "and weighted_f1 are of any number"
        )


def some(names: Sequence[str], most: int = 12) -> str:
    """Quote names for a message, and only so many of them, none longer than a line."""
    shown = ", ".join(f"`{' '.join(name[:40].split())}`" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
