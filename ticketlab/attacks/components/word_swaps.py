"""textattack's word swaps with local resources. Its classes are imported when a swap is first made."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterable
from typing import Any

from ticketlab.attacks.components.words import is_one_word, words_of
from ticketlab.resources.word_vectors import WordVectors
from ticketlab.resources.wordnet import WordNet


def fetch_neighbours(vectors: WordVectors, texts: Iterable[str], neighbours: int, *, excluded: Collection[str] = ()) -> None:
    """Find the neighbours of all words in ``texts`` at once, except the excluded ones; in lower case, as textattack looks them up."""
    words = {word.lower() for text in texts for word in words_of(text)}
    vectors.prefetch(sorted(words.difference(excluded)), neighbours)


def swap_homoglyphs() -> Any:
    """Return the transformation that replaces a letter by one that looks like it."""
    return _homoglyphs()()


@functools.cache
def _homoglyphs() -> Any:
    from textattack.transformations import WordSwapHomoglyphSwap

    class Homoglyphs(WordSwapHomoglyphSwap):  # type: ignore[misc]
        def __init__(self) -> None:
            with contextlib.suppress(FileNotFoundError):  # its package lacks a list that word swaps do not use
                super().__init__()

    return Homoglyphs


def swap_synonyms(wordnet: WordNet) -> Any:
    """Return the transformation that replaces a word by its synonyms."""
    return _synonyms()(wordnet)


@functools.cache
def _synonyms() -> Any:
    from textattack.transformations import WordSwapWordNet

    class Synonyms(WordSwapWordNet):  # type: ignore[misc]
        def __init__(self, wordnet: WordNet) -> None:  # textattack's downloads WordNet
            self.language = "eng"
            self.wordnet = wordnet

        def _get_replacement_words(self, word: str, random: bool = False) -> list[str]:
            return [name for name in self.wordnet.synonyms(word) if is_one_word(name)]

    return Synonyms
