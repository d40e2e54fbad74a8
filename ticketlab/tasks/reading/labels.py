"""Labels by name: what a value of the label column is called, and the order of the names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.tasks.reading.text_equality import canonical, folded

UNLABELLED = frozenset({"", "-", "-1", "null", "nan"})
_BETWEEN = re.compile(r"(?<=[^\W_])[\s_\-.]+(?=[^\W\d_])|(?<=[^\W\d_])[\s_\-.]+(?=[^\W_])")
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
    raise TypeError(
        f"a label must be a name or a number, not {kind_of(value)}; write the one value that is the label into a column of its own"
    )


def kind_of(value: Any) -> str:
    """Return what a value is that is no text and no number, as JSON calls it, for messages: an object with the names of its fields."""
    if isinstance(value, dict):
        return f"an object (of {some(list(map(str, value)), 4)})" if value else "an object"
    return "a list" if isinstance(value, list) else "bytes that are no text" if isinstance(value, bytes) else type(value).__name__


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


def spelling(name: str) -> str:
    """Return what labels share that differ only in case, accents, white space, hyphens, closing punctuation or way of a number.

    Nothing is left between two words, so that ``NotEnoughInfo`` is ``NOT ENOUGH INFO``; between two digits it stays.
    """
    value = number(name)
    if value is not None and not name.endswith("%"):
        return repr(value)
    (plain,) = folded([canonical(name)])
    words = _BETWEEN.sub("", plain).strip(" .,;:!?'\"_")
    return words or plain


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
        known = next((one for one in ordered(train) if spelling(one) == spelling(name)), None)
        other = "" if known is None else f"; if it is `{known}` written differently, write one of them in all files"
        raise DataError(f"{source}: the label `{name}` is in {split} but never in train, which has {some(ordered(train))}{other}")
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
