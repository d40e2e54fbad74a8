"""Word vectors with exact nearest neighbours, read from a package or a file."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ticketlab.errors import ResourceError

Matrix = NDArray[np.float32]


class WordVectors:
    """One vector a word, with the methods of textattack's ``AbstractWordEmbedding``.

    Similarity is the cosine. Neighbours are searched among all words when they are first asked for, and kept.
    """

    def __init__(self, matrix: Matrix, words: Sequence[str]) -> None:
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self.words = list(words)
        self._index = {word: index for index, word in reversed(list(enumerate(self.words)))}  # of a repeated word the first counts
        lengths = np.linalg.norm(self.matrix, axis=1)
        self._lengths = np.where(lengths > 0, lengths, 1.0).astype(np.float32)
        self._neighbours: dict[tuple[int, int], list[int]] = {}

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, word: str | int) -> Matrix | None:
        try:
            vector: Matrix = self.matrix[self._number(word)]
        except (KeyError, IndexError):
            return None
        return vector

    def word2index(self, word: str) -> int:
        """Return the number of a word; KeyError when it has none."""
        return self._index[word]

    def index2word(self, index: int) -> str:
        """Return the word of a number."""
        return self.words[index]

    def get_cos_sim(self, a: str | int, b: str | int) -> float:
        """Return the cosine of two words' vectors."""
        i, j = sorted((self._number(a), self._number(b)))
        return float(self.matrix[i] @ self.matrix[j] / (self._lengths[i] * self._lengths[j]))

    def get_mse_dist(self, a: str | int, b: str | int) -> float:
        """Return the squared Euclidean distance of two words' vectors."""
        difference = self.matrix[self._number(a)] - self.matrix[self._number(b)]
        return float(difference @ difference)

    def nearest_neighbours(self, index: str | int, topn: int) -> list[int]:
        """Return the ``topn`` nearest other words, nearest first; of equally near ones the earlier."""
        index = self._number(index)
        if (index, topn) not in self._neighbours:
            self._neighbours[index, topn] = self._search(index, topn)
        return self._neighbours[index, topn]

    def _search(self, index: int, topn: int) -> list[int]:
        cosine = (self.matrix @ self.matrix[index]) / self._lengths
        cosine[index] = -np.inf
        topn = min(topn, len(self) - 1)
        if topn < 1:
            return []
        near = np.argpartition(-cosine, topn - 1)[:topn]
        return [int(number) for number in near[np.lexsort((near, -cosine[near]))]]

    def _number(self, word: str | int) -> int:
        return self._index[word] if isinstance(word, str) else int(word)


@functools.lru_cache(maxsize=2)
def load(path: str) -> WordVectors:
    """Read a file once per process. Raises as :func:`read`."""
    return read(Path(path))


def read(path: Path) -> WordVectors:
    """Read GloVe or word2vec text, or ``.npy`` with its words beside it (``.txt``, one a line, or a parquet column ``index``).

    :raises ResourceError: the file is none of these.
    """
    if path.suffix != ".npy":
        return _read_text(path)
    try:
        matrix = np.load(path, allow_pickle=False)
    except ValueError as problem:
        raise ResourceError(f"{path}: not a plain numpy array ({problem})") from None
    words = _words_beside(path)
    if matrix.ndim != 2 or len(matrix) != len(words):
        raise ResourceError(f"{path}: {len(words)} words for an array of shape {matrix.shape}")
    return WordVectors(matrix, words)


def _words_beside(path: Path) -> list[str]:
    text = path.with_suffix(".txt")
    if text.exists():
        return text.read_text(encoding="utf-8").split("\n")[: -1 if text.read_bytes().endswith(b"\n") else None]
    tables = sorted(path.parent.glob("*_index.parquet"))
    if len(tables) == 1:
        parquet = importlib.import_module("pyarrow.parquet")  # comes with datasets
        column: list[str] = parquet.read_table(tables[0], columns=["index"]).column(0).to_pylist()
        return column
    raise ResourceError(f"{path}: its words are missing, one a line in {text.name}")


def _read_text(path: Path) -> WordVectors:
    words: list[str] = []
    rows: list[Matrix] = []
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            word, *values = line.rstrip().split(" ")
            if number == 1 and len(values) == 1:
                continue  # word2vec begins with the two sizes
            try:
                row = np.array(values, dtype=np.float32)
            except ValueError:
                raise ResourceError(f"{path} line {number}: not a word and its vector") from None
            if not len(row) or (rows and len(row) != len(rows[0])):
                raise ResourceError(f"{path} line {number}: {len(row)} numbers where there should be {len(rows[0]) if rows else 'some'}")
            words.append(word)
            rows.append(row)
    if not rows:
        raise ResourceError(f"{path}: there are no word vectors in it")
    return WordVectors(np.stack(rows), words)
