"""Handles values that may mean "no label": rows with ``-1`` or ``null`` are dropped; ``unknown`` and ``?`` are kept as classes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted, percent
from ticketlab.tasks.reading.labels import is_unlabelled, parse_number, quote_some, sort_labels

NEVER_CLASSES = frozenset({"", "nan"})
"""Markers of unlabelled rows that are never names of classes."""
MAX_UNLABELLED_SHARE = 0.02
"""A marker on a larger share of a split may be a class; in SNLI 1.8 % of the rows are unlabelled."""
_NOTHING = ("na", "n/a", "n.a.", "#n/a", "#n/d", "#nv", "#yok", "<na>", "none", "(none)", "nil")
_ERRORS = ("#ref!", "#value!", "#name?", "#div/0!", "#num!", "#null!", "#wert!", "#bezug!")
"""Error values of spreadsheets."""
MISSING_VALUES = frozenset((*_NOTHING, *_ERRORS, "nan", "null"))
"""What programs write for a missing value, in lower case. People rarely write one of these as a whole text."""
AMBIGUOUS = frozenset(
    (
        *("?", "??", "???", *_NOTHING, *_ERRORS, "unknown", "undefined", "undetermined", "tbd"),
        *("todo", "unlabelled", "unlabeled", "no label", "missing", "not available", "unspecified", "blank", "(blank)"),
    )
)
"""Values that often mark unlabelled rows, but are treated as classes because they often are."""


def check_unlabelled_markers(source: str, counts: Mapping[str, Counter[str]], declare: str, drop: str) -> list[str]:
    """Reject values that usually mark unlabelled rows but may be classes here; return notices about the markers whose rows are dropped.

    ``counts`` are the rows of each label by split, including unlabelled rows. ``declare`` and ``drop`` are the settings that make a value a
    class, or drop its rows. A marker may be a class if more than :data:`MAX_UNLABELLED_SHARE` of a split has it, or if there is a similar
    label: another negative number for ``-1``, or ``+`` for ``-``. If all other labels are names, ``-1`` is not a class.

    :raises DataError: a marker may be a class.
    """
    names = {name for split in counts.values() for name in split}
    notices = []
    for marker in sorted(name for name in names if is_unlabelled(name) and name.lower() not in NEVER_CLASSES):
        others = {name for name in names if not is_unlabelled(name)}
        values = [value for name in others if (value := parse_number(name)) is not None]
        share = max(split[marker] / split.total() for split in counts.values() if split)
        alike = any(value < 0 for value in values) if marker == "-1" else marker == "-" and "+" in others
        rows = counted(sum(split[marker] for split in counts.values()), "row")
        if alike or (share > MAX_UNLABELLED_SHARE and (values if marker == "-1" else others)):
            context = f"other labels are {quote_some(sort_labels(others))}; up to {100 * share:.1f} % of a split"
            raise DataError(
                f"{source}: {rows} labelled `{marker}` ({context}): this may be a class, or mark unlabelled rows; {drop}{marker} "
                f"drops these rows, and {declare}, given for every label, makes it a class"
            )
        notices.append(f"{rows} labelled `{marker}` treated as unlabelled; {declare}, given for every label, would make it a class")
    return notices


def ambiguous_label_warnings(counts: Mapping[str, Counter[str]], drop: str) -> list[str]:
    """Return warnings about labels that are treated as classes but may mark unlabelled rows.

    ``counts`` are the rows of each label by split; ``drop`` is the setting that drops the rows of a label.
    """
    sizes = sum(counts.values(), Counter[str]())
    rows = sum(number for name, number in sizes.items() if not is_unlabelled(name))
    return [
        f"{sizes[name]} of {counted(rows, 'row')} ({percent(sizes[name] / rows)}) labelled `{name}`, treated as a class; if it "
        f"means unlabelled, {drop}{shlex.quote(name)} drops these rows"
        for name in sorted(sizes)
        if name.casefold() in AMBIGUOUS
    ]
