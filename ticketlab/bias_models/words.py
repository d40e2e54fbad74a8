"""Words for bias models: splitting a text into words, and sources of word vectors."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from ticketlab.core import packages
from ticketlab.core.errors import ResourceError
from ticketlab.resources.word_vectors import load

Matrix = NDArray[np.float32]
MARKS = string.punctuation + "‘’“”‚„‹›«»–—…·•¡¿。，、；：？！（）「」"  # noqa: RUF001
"""Characters that are stripped from both ends of a word."""


def split(text: str) -> list[str]:
    """Return the words of a text: split at white space, in lower case, with punctuation stripped from both ends.

    Punctuation inside a word is kept (``don't``, ``well-known``). Pieces that consist only of punctuation are dropped.
    """
    return [word for piece in text.lower().replace("\u2019", "'").split() if (word := piece.strip(MARKS))]


class WordVectorSource:
    """Maps words to vectors. Each word is looked up once; files and models are loaded for the first word."""

    def __init__(self) -> None:
        self._cache: dict[str, Matrix | None] = {}

    @property
    def width(self) -> int:
        """The length of a vector."""
        raise NotImplementedError

    def find(self, words: Sequence[str]) -> Sequence[Matrix | None]:
        """Return the vector of each of the distinct ``words``, None for a word without one."""
        raise NotImplementedError

    def get(self, words: Sequence[str]) -> list[Matrix | None]:
        """Return the vector of each word, None for a word without one."""
        new = [word for word in dict.fromkeys(words) if word not in self._cache]
        if new:
            self._cache.update(zip(new, self.find(new), strict=True))
        return [self._cache[word] for word in words]

    def __getitem__(self, word: str) -> Matrix | None:
        return self.get([word])[0]

    def counts(self) -> dict[str, int]:
        """Return the number of distinct words that were looked up, and how many of them have no vector."""
        return {"distinct": len(self._cache), "without_vector": sum(vector is None for vector in self._cache.values())}


class NoVectors(WordVectorSource):
    """A source without vectors, for a bias model that uses none."""

    width = 0

    def find(self, words: Sequence[str]) -> Sequence[Matrix | None]:
        """Return None for every word; see :meth:`WordVectorSource.find`."""
        return [None] * len(words)


class FromFile(WordVectorSource):
    """Vectors from a file whose words are in lower case."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    @property
    def width(self) -> int:
        """The length of a vector."""
        return int(load(self._path).matrix.shape[1])

    def find(self, words: Sequence[str]) -> Sequence[Matrix | None]:
        """Look the words up; see :meth:`WordVectorSource.find`."""
        vectors = load(self._path)
        return [vectors[word] for word in words]


@frozen
class WordTable:
    """The distinct words of a set of texts, numbered, with their vectors."""

    numbers: Mapping[str, int]
    """The number of each word."""
    vectors: Matrix
    """The vectors, (words, width). A word without a vector has zeros."""
    known: NDArray[np.bool_]
    """Which words have a vector, (words,)."""

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], words: WordVectorSource) -> WordTable:
        """Look up every word of ``texts``, each a list of words."""
        distinct = sorted({word for text in texts for word in text})
        matrix = np.zeros((len(distinct), words.width), dtype=np.float32)
        known = np.zeros(len(distinct), dtype=np.bool_)
        for number, vector in enumerate(words.get(distinct)):
            if vector is not None:
                matrix[number], known[number] = vector, True
        return cls({word: number for number, word in enumerate(distinct)}, matrix, known)

    def unit(self) -> Matrix:
        """Return the vectors normalised to length one, so that their products are cosines. Zeros stay zeros."""
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        scaled: Matrix = np.divide(self.vectors, lengths, out=np.zeros_like(self.vectors), where=lengths > 0)
        return scaled


def vector_file(name: str) -> str:
    """Return the path of the word vectors of a package or file.

    :raises ResourceError: they are not found, or the path is a folder.
    """
    path = packages.find(name, packages.WORD_VECTORS)
    if path is None:
        raise ResourceError(f"word vectors `{name}` not found: {packages.GET_WORD_VECTORS}")
    if Path(path).is_dir():
        raise ResourceError(f"word vectors `{name}`: this is a folder; name the file in it")
    return path
