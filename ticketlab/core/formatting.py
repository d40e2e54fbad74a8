"""Formats numbers and lists in messages, and makes external text safe to print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

INVISIBLE = re.compile(r"[^\x20-\x7e\u200c\u200d]+|(?<![^\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f])")
"""Text that may contain an invisible character. Joiners between two non-ASCII letters are excluded: Persian and Hindi use them."""


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return ``1 example`` or ``2 examples``. ``plural`` is by default ``singular`` with an s."""
    return f"{number} {singular if number == 1 else plural or f'{singular}s'}"


def verb(number: int, one: str = "is", many: str = "are") -> str:
    """Return the verb form for a number: ``1 of 3 texts is``, ``2 of 3 texts are``."""
    return one if number == 1 else many


def number_range(numbers: Iterable[int]) -> str:
    """Return ``3``, or ``3 to 7`` from the smallest to the largest of the numbers."""
    ordered = sorted(numbers)
    return str(ordered[0]) if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"


def printable(text: object, *, lines: bool = False) -> str:
    r"""Return text that is safe to print on a terminal: characters that move the cursor, set colours or reverse text are escaped.

    All external text that is shown to people passes through here: labels, names of columns and files, provenance, messages. JSON does not.
    Line breaks are escaped as well, unless ``lines`` is set.
    """
    whole = str(text)
    if whole.isprintable():
        return whole
    return ("\n" if lines else r"\n").join(INVISIBLE.sub(_escape, line) for line in whole.split("\n"))


def _escape(found: re.Match[str]) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in found[0])


def percent(share: float) -> str:
    """Return a share as ``12.3 %``. A share strictly between 0 and 1 is never shown as 0 % or 100 %."""
    text = f"{100 * share:.1f}"
    if 0 < share < 1 and text in ("0.0", "100.0"):
        return "under 0.1 %" if share < 0.5 else "over 99.9 %"
    return f"{text} %"


def share_of(number: int, total: int, what: str) -> str:
    """Return ``3 of 40 test texts (7.5 %)``."""
    return f"{number} of {total} {what} ({percent(number / total)})"


def joined(words: Sequence[str]) -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    return " and ".join([*([", ".join(words[:-1])] if words[:-1] else []), *words[-1:]])


def duration(seconds: float) -> str:
    """Return a duration as text: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
