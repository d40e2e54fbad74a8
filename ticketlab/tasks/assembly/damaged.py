"""Finds texts that were damaged before they were read: missing values written as text, and wrongly decoded characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ticketlab.core.formatting import share_of, verb
from ticketlab.tasks.base import Example
from ticketlab.tasks.reading.labels import quote_some
from ticketlab.tasks.reading.missing_labels import MISSING_VALUES

MAX_DAMAGED_SHARE = 0.02
"""Up to this share of a column's texts, damage is a notice instead of a warning: a few published texts really are `n/a`."""
REPLACEMENT = "\ufffd"
_LONGEST_MISSING_VALUE = max(map(len, MISSING_VALUES))
_MOJIBAKE = re.compile("[\u00c2\u00c3\u00d0\u00d1][\u0080-\u009f\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u00bf]|\u00e2\u20ac")
"""UTF-8 decoded as Windows-1252, such as ``\u00c3\u00a9`` for an e with acute.

Guillemets and U+00A0 are excluded from the second character because they can follow a capital letter in ordinary text.
"""


def find_damage(examples: Sequence[Example], columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return notices and warnings about damaged texts in each column: how many, their share, and what to do."""
    notices: list[str] = []
    warnings: list[str] = []
    for place, column in enumerate(columns):
        texts = [example.texts[place] for example in examples]
        for number, message in _messages(column, texts):
            (warnings if number > MAX_DAMAGED_SHARE * len(texts) else notices).append(message)
    return notices, warnings


def _messages(column: str, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of damaged texts and a message for each kind of damage."""
    what = f"texts in `{column}`"
    missing = Counter(short for text in texts if (short := _if_short(text)).casefold() in MISSING_VALUES)
    replaced = sum(REPLACEMENT in text for text in texts)
    misdecoded = sum(not text.isascii() and bool(_MOJIBAKE.search(text)) for text in texts)
    if number := missing.total():
        values = [value for value, _ in missing.most_common()]
        yield number, f"{share_of(number, len(texts), what)} {verb(number)} {quote_some(values, 4)}: a missing value written as text?"
    if replaced:
        yield (
            replaced,
            f"{share_of(replaced, len(texts), what)} {verb(replaced, 'contains', 'contain')} the character U+FFFD, which replaces bytes "
            "that could not be decoded: export the file as UTF-8",
        )
    if misdecoded:
        yield (
            misdecoded,
            f"{share_of(misdecoded, len(texts), what)} {verb(misdecoded, 'seems', 'seem')} to be UTF-8 decoded as Windows-1252 "
            "(`\u00c3\u00a9` for `\u00e9`): export the file as UTF-8",
        )


def _if_short(text: str) -> str:
    return text.strip() if len(text) < 2 * _LONGEST_MISSING_VALUE else ""  # avoids copying the long texts
