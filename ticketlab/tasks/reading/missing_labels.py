"""Labels that may mean that a row has none: ``-1`` and ``null``, which are left out, and ``unknown`` and ``?``, which are classes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted, percent
from ticketlab.tasks.reading.labels import is_unlabelled, number, ordered, some

MISSING = frozenset({"", "nan"})
"""Of what marks a row without label, what is never the name of a class."""
MOST_MARKED = 0.02
_NOTHING = ("na", "n/a", "n.a.", "#n/a", "#n/d", "#nv", "#yok", "<na>", "none", "(none)", "nil")
_ERRORS = ("#ref!", "#value!", "#name?", "#div/0!", "#num!", "#null!", "#wert!", "#bezug!")
"""Errors of a spreadsheet."""
MISSING_VALUES = frozenset((*_NOTHING, *_ERRORS, "nan", "null"))
"""What programs write for a missing value, in lower case: a text of it alone is hardly one that somebody wrote."""
DOUBTFUL = frozenset(
    (
        *("?", "??", "???", *_NOTHING, *_ERRORS, "unknown", "undefined", "undetermined", "tbd"),
        *("todo", "unlabelled", "unlabeled", "no label", "missing", "not available", "unspecified", "blank", "(blank)"),
    )
)
"""What often marks a row without label, and is often enough a class that it is taken for one."""


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
        notices.append(f"{rows} labelled `{marker}` taken to have no label; {declare}, given for every label, would make it a class")
    return notices


def doubtful(found: Mapping[str, Counter[str]], drop: str) -> list[str]:
    """Return warnings about labels that are classes here and may mean that a row has no label.

    ``found`` are the rows of every label by split; ``drop`` is what says that a label is none.
    """
    sizes = sum(found.values(), Counter[str]())
    rows = sum(number for name, number in sizes.items() if not is_unlabelled(name))
    return [
        f"{sizes[name]} of {counted(rows, 'row')} ({percent(sizes[name] / rows)}) labelled `{name}`, a class here; if it means that "
        f"there is no label, {drop}{shlex.quote(name)} leaves them out"
        for name in sorted(sizes)
        if name.casefold() in DOUBTFUL
    ]
