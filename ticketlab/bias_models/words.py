"""The words of a text, and where their vectors come from."""

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
"""What is taken off the ends of a word."""


def split(text: str) -> list[str]:
    """Return the words of a text: what stands between white space, in lower case, punctuation taken off both ends.

    Punctuation inside a word stays (``don't``, ``well-known``); what is nothing but punctuation is no word.
    """
    return [word for piece in text.lower().replace("\u2019", "'").split() if (word := piece.strip(MARKS))]


class WordVectorSource:
    """Gives the vector of a word. Each word is looked up once, and what the vectors come from is opened for the first of them."""

    def __init__(self) -> None:
        self._found: dict[str, Matrix | None] = {}

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        raise NotImplementedError

    def find(self, words: Sequence[str]) -> Sequence[Matrix | None]:
        """Return the vector of each of some distinct words, None for a word without one."""
        raise NotImplementedError

    def get(self, words: Sequence[str]) -> list[Matrix | None]:
        """Return the vector of each word, None for a word without one."""
        new = [word for word in dict.fromkeys(words) if word not in self._found]
        if new:
            self._found.update(zip(new, self.find(new), strict=True))
        return [self._found[word] for word in words]

    def __getitem__(self, word: str) -> Matrix | None:
        return self.get([word])[0]

    def counts(self) -> dict[str, int]:
        """Return how many distinct words were asked for, and how many of them have no vector."""
        return {"distinct": len(self._found), "without_vector": sum(vector is None for vector in self._found.values())}


class NoVectors(WordVectorSource):
    """No word has a vector: for a bias model that asks for none."""

    width = 0

    def find(self, words: Sequence[str]) -> Sequence[Matrix | None]:
        """Find none; see :meth:`WordVectorSource.find`."""
        return [None] * len(words)


class FromFile(WordVectorSource):
    """Vectors of a file, by words in lower case."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(load(self._path).matrix.shape[1])

    def find(self, words: Sequence[str]) -> Sequence[Matrix | None]:
        """Look the words up; see :meth:`WordVectorSource.find`."""
        vectors = load(self._path)
        return [vectors[word] for word in words]


@frozen
class WordTable:
    """The distinct words of some texts, numbered, with their vectors (words, width); a word without one has zeros."""

    numbers: Mapping[str, int]
    vectors: Matrix
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], words: WordVectorSource) -> WordTable:
        """Look up every word of some texts, given as lists of words."""
        distinct = sorted({word for text in texts for word in text})
        matrix = np.zeros((len(distinct), words.width), dtype=np.float32)
        known = np.zeros(len(distinct), dtype=np.bool_)
        for number, vector in enumerate(words.get(distinct)):
            if vector is not None:
                matrix[number], known[number] = vector, True
        return cls({word: number for number, word in enumerate(distinct)}, matrix, known)

    def unit(self) -> Matrix:
        """Return the vectors at length one, so that products of them are cosines; zeros stay zeros."""
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        scaled: Matrix = np.divide(self.vectors, lengths, out=np.zeros_like(self.vectors), where=lengths > 0)
        return scaled


def vector_file(asked: str) -> str:
    """Return where the word vectors of a package or file are.

    :raises ResourceError: they are nowhere, or it is a folder.
    """
    place = packages.find(asked, packages.WORD_VECTORS)
    if place is None:
        raise ResourceError(f"word vectors `{asked}` not found: {packages.GET_WORD_VECTORS}")
    if Path(place).is_dir():
        raise ResourceError(f"word vectors `{asked}`: a folder; name the file in it")
    return place
