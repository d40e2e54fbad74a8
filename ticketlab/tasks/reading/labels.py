"""Converts values of the label column to label names, and orders, compares and checks the names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.tasks.reading.text_equality import canonical_text, fold_texts

UNLABELLED = frozenset({"", "-", "-1", "null", "nan"})
_WORD_SEPARATORS = re.compile(r"(?<=[^\W_])[\s_\-.]+(?=[^\W\d_])|(?<=[^\W\d_])[\s_\-.]+(?=[^\W_])")
MULTI_LABEL_ADVICE = (
    "several labels per row need a multi-label objective, with a separate output for each label, which ticketlab does not have; keep one "
    "label per row, or write a column of 0 and 1 for each label and run one task for each (--label-column)"
)


def label_name(value: Any) -> str:
    """Convert a label value to its name: ``2`` and ``2.0`` become ``"2"``, true becomes ``"true"``, a missing value ``""``.

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
        raise TypeError(f"the label is a list: {MULTI_LABEL_ADVICE}")
    raise TypeError(f"a label must be a name or a number, not {describe_type(value)}; write the label's value into a separate column")


def describe_type(value: Any) -> str:
    """Describe a value that is neither text nor a number, in terms of JSON, for messages: an object with the names of its fields."""
    if isinstance(value, dict):
        return f"an object (of {quote_some(list(map(str, value)), 4)})" if value else "an object"
    return "a list" if isinstance(value, list) else "bytes that are not text" if isinstance(value, bytes) else type(value).__name__


def is_unlabelled(name: str) -> bool:
    """Return whether this name marks an unlabelled row by the conventions of GLUE, SNLI and the hub."""
    return name.lower() in UNLABELLED


def sort_labels(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names, sorted: by value if all are numbers, else as text."""
    distinct = sorted(set(names))
    try:
        return tuple(sorted(distinct, key=float))
    except ValueError:
        return tuple(distinct)


def parse_number(name: str) -> float | None:
    """Parse a name that is a finite number, possibly a percentage or with a decimal comma; None if it is not one."""
    text = name.strip().removesuffix("%").rstrip()
    if re.fullmatch(r"[+-]?\d*,\d+", text):
        text = text.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def spelling_key(name: str) -> str:
    """Return a key that is equal for labels that differ only in case, accents, white space, hyphens, closing punctuation or number format.

    Separators between words are removed, so that ``NotEnoughInfo`` equals ``NOT ENOUGH INFO``; those between digits are kept.
    """
    value = parse_number(name)
    if value is not None and not name.endswith("%"):
        return repr(value)
    (plain,) = fold_texts([canonical_text(name)])
    words = _WORD_SEPARATORS.sub("", plain).strip(" .,;:!?'\"_")
    return words or plain


def resolve_label_names(
    source: str, known: Iterable[str], declared: Sequence[str], *, trains: bool = True, challenge: bool = False
) -> tuple[str, ...]:
    """Return the label names of a task, as declared or else sorted.

    ``known`` are the labels of the training split, or if the data ``trains`` no model, of the rows to test on. These may have a single
    class if the labels are declared, and a ``challenge`` set always.

    :raises DataError: there are too few classes, or a label was not declared.
    """
    found = sort_labels(known)
    for name in found:
        if declared and name not in declared:
            several = next((one for one in declared if name in one.split(",")), None)
            hint = f": `{several}` is a single label; declare each by itself" if several else did_you_mean(name, declared)
            raise DataError(f"{source}: the label `{name}` is not one of the declared labels{hint}")
    if len(found) < (1 if challenge or (declared and not trains) else 2):
        row = "training row" if trains else "row"
        seen = f"all {row}s are labelled {quote_some(found)}" if found else f"no {row} has a label"
        if found and not trains:
            raise DataError(f"{source}: {seen}; give the names of all labels with --labels")
        only_tests = "; rows to test on, in a file named test.csv or a split named test, may have one" if declared and found else ""
        raise DataError(
            f"{source}: {seen}; a task needs two classes (-1, -, null and empty mean unlabelled, unless declared as labels){only_tests}"
        )
    return tuple(declared) or found


def label_index(source: str, split: str, name: str, train: Collection[str], names: Sequence[str]) -> int:
    """Return the index of a label, which must occur in the training split.

    :raises DataError: the label occurs in this split but never in train.
    """
    if name not in train:
        known = next((label for label in sort_labels(train) if spelling_key(label) == spelling_key(name)), None)
        other = "" if known is None else f"; if it is another spelling of `{known}`, use one spelling in all files"
        raise DataError(f"{source}: the label `{name}` is in {split} but never in train, which has {quote_some(sort_labels(train))}{other}")
    return names.index(name)


def check_positive_label(source: str, positive: str | None, names: Sequence[str]) -> None:
    """Check that the positive label is one of two label names.

    :raises DataError: it is not.
    """
    if positive is None:
        return
    if positive not in names:
        raise DataError(f"{source}: positive_label: there is no label `{positive}`{did_you_mean(positive, names)}")
    if len(names) > 2:
        raise DataError(
            f"{source}: positive_label: the binary F1 needs two labels, and there are {len(names)} ({quote_some(names)}); remove it: "
            "macro_f1 and weighted_f1 work for any number of labels"
        )


def quote_some(names: Sequence[str], most: int = 12) -> str:
    """Quote the first ``most`` names for a message, each shortened to 40 characters on one line, with the number of the others."""
    shown = ", ".join(f"`{' '.join(name[:40].split())}`" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
