"""Words around numbers in messages, and texts from elsewhere as they are shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

INVISIBLE = re.compile(r"[^\x20-\x7e\u200c\u200d]+|(?<![^\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f])")
"""What may hold a character that does not show. A joiner between two letters that are not ASCII is how Persian and Hindi are written."""


def counted(number: int, one: str, many: str = "") -> str:
    """Return ``1 example`` or ``2 examples``; ``many`` is what more than one, or none, are called if that is not ``one`` with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def verb(number: int, one: str = "is", many: str = "are") -> str:
    """Return the verb for so many: ``1 of 3 texts is``, ``2 of 3 texts are``."""
    return one if number == 1 else many


def printable(text: object, *, lines: bool = False) -> str:
    r"""Return a text as it may go to a terminal: what moves a cursor, changes colours or turns a line around becomes a visible ``\x1b``.

    Everything from outside goes through here on its way to people: labels, names of columns and files, provenance, messages. JSON does not.
    With ``lines`` line breaks stay; without, they are shown as well.
    """
    whole = str(text)
    if whole.isprintable():
        return whole
    return ("\n" if lines else r"\n").join(INVISIBLE.sub(_escape, line) for line in whole.split("\n"))


def _escape(found: re.Match[str]) -> str:
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in found[0])


def percent(share: float) -> str:
    """Return a share as ``12.3 %``; what is not nothing and not all never reads as such."""
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
