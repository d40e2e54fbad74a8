"""Part-of-speech tags by textblob's lexicon and rules, which come with the package, in the universal tag set."""

from __future__ import annotations

import functools
from collections.abc import Sequence

_UNIVERSAL = {
    **dict.fromkeys(("CC",), "CONJ"),
    **dict.fromkeys(("CD",), "NUM"),
    **dict.fromkeys(("DT", "EX", "PDT", "WDT"), "DET"),
    **dict.fromkeys(("IN",), "ADP"),
    **dict.fromkeys(("JJ", "JJR", "JJS"), "ADJ"),
    **dict.fromkeys(("MD", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), "VERB"),
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS"), "NOUN"),
    **dict.fromkeys(("PRP", "PRP$", "WP", "WP$"), "PRON"),
    **dict.fromkeys(("POS", "RP", "TO"), "PRT"),
    **dict.fromkeys(("RB", "RBR", "RBS", "WRB"), "ADV"),
    **dict.fromkeys((".", ",", ":", "(", ")", "''", "``", "#", "$"), "."),
}


def universal(penn: str) -> str:
    """Return the universal tag of a Penn Treebank tag; ``X`` when there is none. ``NNP-PERS`` counts as ``NNP``."""
    return _UNIVERSAL.get(penn.partition("-")[0] or penn, "X")


def tags(words: Sequence[str]) -> list[str]:
    """Return the universal tag of each word, in its context."""
    return list(_tags(tuple(words)))


@functools.lru_cache(maxsize=2**14)
def _tags(words: tuple[str, ...]) -> tuple[str, ...]:
    from textblob.en import tag

    tagged = tag(" ".join(words), tokenize=False)
    if len(tagged) != len(words):  # it split a word or joined two: without context then
        return tuple(universal(tag(word, tokenize=False)[0][1]) for word in words)
    return tuple(universal(penn) for _, penn in tagged)
