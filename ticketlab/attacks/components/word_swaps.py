"""textattack's word swaps on our resources. Its classes are imported when a swap is first made."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterable
from typing import Any

from ticketlab.attacks.components.words import is_one_word, words_of
from ticketlab.resources.word_vectors import WordVectors
from ticketlab.resources.wordnet import WordNet


def fetch_neighbours(vectors: WordVectors, texts: Iterable[str], neighbours: int, *, but: Collection[str] = ()) -> None:
    """Search the neighbours of all words in ``texts`` at once, in lower case as textattack asks for them; of all ``but`` some."""
    words = {word.lower() for text in texts for word in words_of(text)}
    vectors.prefetch(sorted(words.difference(but)), neighbours)


def homoglyphs() -> Any:
    """Return the swap of a letter for one that looks like it."""
    return _homoglyphs()()


@functools.cache
def _homoglyphs() -> Any:
    from textattack.transformations import WordSwapHomoglyphSwap

    class Homoglyphs(WordSwapHomoglyphSwap):  # type: ignore[misc]
        def __init__(self) -> None:
            with contextlib.suppress(FileNotFoundError):  # of a list that its package lacks, and that swaps of words do not read
                super().__init__()

    return Homoglyphs


def synonyms(wordnet: WordNet) -> Any:
    """Return the swap of a word for its synonyms."""
    return _synonyms()(wordnet)


@functools.cache
def _synonyms() -> Any:
    from textattack.transformations import WordSwapWordNet

    class Synonyms(WordSwapWordNet):  # type: ignore[misc]
        def __init__(self, wordnet: WordNet) -> None:  # its own downloads
            self.language = "eng"
            self.wordnet = wordnet

        def _get_replacement_words(self, word: str, random: bool = False) -> list[str]:
            return [name for name in self.wordnet.synonyms(word) if is_one_word(name)]

    return Synonyms
