"""Defines when two texts are equal, for making splits, which must not share texts, and for counting repeats."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from attrs import frozen

ExampleTexts = tuple[str, ...]

_INVISIBLE = re.compile(
    "[\0-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Invisible characters: controls, the blank Braille pattern, and Unicode's ``Default_Ignorable_Code_Point`` (DerivedCoreProperties.txt)."""
_ACCENTS = re.compile("[\u0300-\u036f]+")


def is_empty(text: str) -> bool:
    """Return whether a text consists only of white space and invisible characters, such as U+200B and U+FEFF."""
    return not canonical_text(text)


def canonical_text(text: str) -> str:
    """Normalise a text: NFKC, no invisible characters, and single spaces for white space."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = " ".join(text.split())
    return text if text.isprintable() and text.isascii() else " ".join(_INVISIBLE.sub("", text).split())


def fold_texts(texts: Sequence[str]) -> ExampleTexts:
    """Fold canonical texts as an uncased model reads them: ignore case, and remove accents from Latin, Greek and Cyrillic letters."""
    return tuple(map(_fold_text, texts))


def _fold_text(text: str) -> str:
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold()))
    return unicodedata.normalize("NFC", plain).replace("\u0131", "i")  # in Turkish, I is the capital of dotless i


@frozen
class TextGroups:
    """Groups of examples with equal texts, by their ids.

    ``texts`` are the canonical texts of every example. ``same`` maps each example that shares its texts with another to the id that
    represents its group. ``swapped`` maps such an id of a pair to the id that represents the swapped pair, if there is one.
    """

    texts: Mapping[str, ExampleTexts]
    same: Mapping[str, str]
    swapped: Mapping[str, str]

    def key(self, identity: str) -> str:
        """Return a key that is the same for all examples with equal texts."""
        return self.same.get(identity, identity)


def group_equal_texts(texts: Mapping[str, ExampleTexts]) -> TextGroups:
    """Group the examples with equal texts; ``texts`` are their canonical texts by id.

    Case and accents are ignored, although a label may depend on them: keeping two such texts on one side of a split does no harm, but with
    one on each side, an uncased model has seen the answer. A swapped pair is a different pair, because its meaning depends on the task.
    """
    first: dict[ExampleTexts, str] = {}
    same: dict[str, str] = {}
    for identity, own in texts.items():
        leader = first.setdefault(fold_texts(own), identity)
        if leader != identity:
            same[leader] = same[identity] = leader
    swapped = {leader: first[own[::-1]] for own, leader in first.items() if len(own) > 1 and own[0] != own[1] and own[::-1] in first}
    return TextGroups(texts, same, swapped)
