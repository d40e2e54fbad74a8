"""When two texts are the same one: for splits, which must not share a text, and for counting repeats."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from attrs import frozen

Texts = tuple[str, ...]

_INVISIBLE = re.compile(
    "[\0-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Controls, the blank Braille pattern, and Unicode's ``Default_Ignorable_Code_Point`` (DerivedCoreProperties.txt): nothing is drawn."""
_ACCENTS = re.compile("[\u0300-\u036f]+")


def is_empty(text: str) -> bool:
    """Say whether a text has nothing to read: white space and characters that are not drawn, such as U+200B and U+FEFF."""
    return not canonical(text)


def canonical(text: str) -> str:
    """Return a text without what does not change how it reads: in NFKC, without invisible characters, white space as single spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = " ".join(text.split())
    return text if text.isprintable() and text.isascii() else " ".join(_INVISIBLE.sub("", text).split())


def folded(texts: Sequence[str]) -> Texts:
    """Return canonical texts as an uncased model reads them: upper and lower case as one, Latin, Greek and Cyrillic without accents."""
    return tuple(map(_folded, texts))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold()))
    return unicodedata.normalize("NFC", plain).replace("\u0131", "i")  # Turkish: I is the capital of a dotless i there, of i elsewhere


@frozen
class TextGroups:
    """Which examples have equal texts, by their ids.

    ``texts`` are the canonical texts of every example. ``same`` has, for each example whose texts another one has too, the id that stands
    for all of them. ``swapped`` has, for a pair that is there in the other order too, the id that stands for that.
    """

    texts: Mapping[str, Texts]
    same: Mapping[str, str]
    swapped: Mapping[str, str]

    def key(self, identity: str) -> str:
        """Return what examples with equal texts have in common."""
        return self.same.get(identity, identity)


def compare(texts: Mapping[str, Texts]) -> TextGroups:
    """Find the examples with equal texts; ``texts`` are their canonical texts by id.

    Upper and lower case count as one, and letters with and without accents, although a label may be about them: that two such texts are on
    one side of a split costs nothing, and that they are on two tells an uncased model an answer. A pair in the other order is another
    pair: what it means depends on the task.
    """
    first: dict[Texts, str] = {}
    same: dict[str, str] = {}
    for identity, own in texts.items():
        leader = first.setdefault(folded(own), identity)
        if leader != identity:
            same[leader] = same[identity] = leader
    swapped = {leader: first[own[::-1]] for own, leader in first.items() if len(own) > 1 and own[0] != own[1] and own[::-1] in first}
    return TextGroups(texts, same, swapped)
