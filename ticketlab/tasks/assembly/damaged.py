"""Texts that were damaged before they came here: missing values written as text, and characters decoded wrongly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ticketlab.core.formatting import percent, verb
from ticketlab.tasks.base import Example
from ticketlab.tasks.reading.labels import some
from ticketlab.tasks.reading.missing_labels import MISSING_VALUES

MOST_DAMAGED = 0.02
"""The share of the texts of a column up to which damage is a notice and no warning: a few published texts are `n/a` too."""
REPLACEMENT = "\ufffd"
_LONGEST = max(map(len, MISSING_VALUES))
_DECODED_TWICE = re.compile("[\u00c2\u00c3\u00d0\u00d1][\u0080-\u009f\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u00bf]|\u00e2\u20ac")
"""UTF-8 read as Windows-1252, such as ``\u00c3\u00a9`` for an e with acute; without what may follow a capital: guillemets and U+00A0."""


def damage(examples: Sequence[Example], columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what to say of damaged texts, by column, as notices and warnings: how many, which share, and what to do."""
    notices: list[str] = []
    warnings: list[str] = []
    for place, column in enumerate(columns):
        texts = [example.texts[place] for example in examples]
        for number, message in _found(column, texts):
            (warnings if number > MOST_DAMAGED * len(texts) else notices).append(message)
    return notices, warnings


def _found(column: str, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    missing = Counter(cell for text in texts if (cell := _cell(text)).casefold() in MISSING_VALUES)
    replaced = sum(REPLACEMENT in text for text in texts)
    twice = sum(not text.isascii() and bool(_DECODED_TWICE.search(text)) for text in texts)
    if number := missing.total():
        names = [name for name, _ in missing.most_common()]
        yield number, f"{_share(number, texts, column)} {verb(number)} {some(names, 4)}: a missing value written as text?"
    if replaced:
        yield (
            replaced,
            f"{_share(replaced, texts, column)} {verb(replaced, 'has', 'have')} the character U+FFFD, which stands for what was decoded "
            "wrongly: export the file as UTF-8",
        )
    if twice:
        yield (
            twice,
            f"{_share(twice, texts, column)} {verb(twice, 'seems', 'seem')} to be UTF-8 that was decoded as Windows-1252 (`\u00c3\u00a9` "
            "for `\u00e9`): export the file as UTF-8",
        )


def _cell(text: str) -> str:
    return text.strip() if len(text) < 2 * _LONGEST else ""  # most texts are longer, and need no copy


def _share(number: int, texts: Sequence[str], column: str) -> str:
    return f"{number} of {len(texts)} texts in `{column}` ({percent(number / len(texts))})"
