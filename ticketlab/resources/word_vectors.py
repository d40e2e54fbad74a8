"""Word vectors with exact nearest neighbours, read from a package or a file."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticketlab.core.errors import ResourceError
from ticketlab.core.formatting import counted
from ticketlab.resources import vector_cache
from ticketlab.resources.vector_files import file_of_words

Matrix = NDArray[np.float32]
Rows = NDArray[np.intp]
_ROWS_AT_ONCE = 1 << 14
_WORDS_AT_ONCE = 128
_GROUP = 16
_BINARY = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x93NUMPY", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
"""The first bytes of zip, gzip, bzip2 and xz files, arrays and pickles."""


class WordVectors:
    """Word vectors with the methods of textattack's ``AbstractWordEmbedding``.

    Similarity is the cosine, in double precision; it is 0 for a zero vector. Nearest neighbours are found among all words when first
    requested, or earlier for many words at once (:meth:`prefetch`), and cached. They are exact, and the same either way.
    """

    def __init__(self, matrix: Matrix, words: Sequence[str]) -> None:
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        """The vectors, (words, width)."""
        self.words = list(words)
        """The words, in the order of the rows."""
        last_first = zip(reversed(self.words), range(len(self.words) - 1, -1, -1), strict=True)
        self._index = dict(last_first)  # the first entry of a repeated word counts
        lengths = _lengths(self.matrix)
        self._ordinary = bool(((lengths == 0) | ((lengths > 1e-18) & (lengths < 1e18))).all())
        self._lengths = np.where(lengths > 0, lengths, 1.0)
        self._neighbours: dict[int, dict[int, float]] = {}  # by word: the neighbours and their cosines, nearest first

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, word: str | int) -> Matrix | None:
        try:
            vector: Matrix = self.matrix[self._number(word)]
        except (KeyError, IndexError):
            return None
        return vector

    def word2index(self, word: str) -> int:
        """Return the index of a word; raises KeyError if it is unknown."""
        return self._index[word]

    def index2word(self, index: int) -> str:
        """Return the word with an index."""
        return self.words[index]

    def get_cos_sim(self, a: str | int, b: str | int) -> float:
        """Return the cosine similarity of two words."""
        i, j = self._number(a), self._number(b)
        known = self._neighbours.get(i, {}).get(j) or self._neighbours.get(j, {}).get(i)
        return float(self._cosines(i, np.array([j]))[0]) if known is None else known

    def get_mse_dist(self, a: str | int, b: str | int) -> float:
        """Return the squared Euclidean distance of two words."""
        difference = self.matrix[self._number(a)] - self.matrix[self._number(b)]
        return float(difference @ difference)

    def nearest_neighbours(self, index: str | int, topn: int) -> list[int]:
        """Return the ``topn`` nearest other words, nearest first, ties in the order of their indices."""
        number = self._number(index)
        self._find([number], topn)
        return list(itertools.islice(self._neighbours.get(number, ()), max(topn, 0)))

    def prefetch(self, words: Iterable[str], topn: int) -> None:
        """Find the ``topn`` nearest neighbours of many words, ten times as fast as one by one. Unknown words are ignored."""
        self._find([self._index[word] for word in words if word in self._index], topn)

    def _find(self, numbers: Iterable[int], topn: int) -> None:
        topn = min(topn, len(self) - 1)
        missing = [number for number in dict.fromkeys(numbers) if len(self._neighbours.get(number, ())) < topn]
        for start in range(0, len(missing), _WORDS_AT_ONCE):
            block = missing[start : start + _WORDS_AT_ONCE]
            for number, rows in zip(block, self._candidates(block, topn), strict=True):
                others = rows[rows != number]
                cosines = self._cosines(number, others)
                order = np.argsort(-cosines, kind="stable")[:topn]
                self._neighbours[number] = dict(zip(others[order].tolist(), cosines[order].tolist(), strict=True))

    def _candidates(self, block: Sequence[int], topn: int) -> list[Rows]:
        """Return a superset of the ``topn`` nearest rows of each word in a block, including itself, in ascending order.

        The cosines here are computed in single precision, with an error of at most ``error``. Rows are divided into groups. The best row
        of at least ``topn + 1`` groups reaches ``cut``, so none of the nearest rows is below it by more than twice the error.
        """
        groups = -(-len(self) // _GROUP)
        if topn >= groups or not self._ordinary:
            return [np.arange(len(self))] * len(block)
        units = (self.matrix[block] / self._lengths[block, None]).astype(np.float32).T
        inverse = (1 / self._lengths).astype(np.float32)[:, None]
        best = np.empty((groups, len(block)), dtype=np.float32)
        for start in range(0, len(self), _ROWS_AT_ONCE):
            cosines = self.matrix[start : start + _ROWS_AT_ONCE] @ units
            cosines *= inverse[start : start + _ROWS_AT_ONCE]
            whole = len(cosines) // _GROUP
            best[start // _GROUP : start // _GROUP + whole] = cosines[: whole * _GROUP].reshape(whole, _GROUP, len(block)).max(axis=1)
            if len(cosines) % _GROUP:
                best[-1] = cosines[whole * _GROUP :].max(axis=0)
        error = (self.matrix.shape[1] + 8) * np.finfo(np.float32).eps  # the error bound of a sum of that many products, doubled
        candidates = []
        for reached in np.ascontiguousarray(best.T):
            cut = np.partition(reached, groups - 1 - topn)[groups - 1 - topn]  # one more than requested, for the word itself
            rows = np.flatnonzero(reached >= cut - 2 * error)[:, None] * _GROUP + np.arange(_GROUP)
            candidates.append(rows[rows < len(self)])
        return candidates

    def _cosines(self, number: int, rows: Rows) -> NDArray[np.float64]:
        """Return the cosines of a word with others; each value is independent of the other rows."""
        vector = self.matrix[number].astype(np.float64)
        products = [(self.matrix[rows[start : start + _ROWS_AT_ONCE]] * vector).sum(axis=1) for start in range(0, len(rows), _ROWS_AT_ONCE)]
        cosines: NDArray[np.float64] = np.concatenate([np.empty(0), *products]) / (self._lengths[rows] * self._lengths[number])
        return cosines

    def _number(self, word: str | int) -> int:
        return self._index[word] if isinstance(word, str) else range(len(self.words))[word]


def _lengths(matrix: Matrix) -> NDArray[np.float64]:
    parts = (matrix[start : start + _ROWS_AT_ONCE].astype(np.float64) for start in range(0, len(matrix), _ROWS_AT_ONCE))
    lengths: NDArray[np.float64] = np.sqrt(np.concatenate([np.empty(0), *((part * part).sum(axis=1) for part in parts)]))
    return lengths


@functools.lru_cache(maxsize=2)
def load(path: str) -> WordVectors:
    """Read a file once per process; see :func:`read`."""
    return read(Path(path))


def read(path: Path) -> WordVectors:
    """Read GloVe or word2vec text, or a ``.npy`` file next to a file of its words (``.txt``, one per line, or a parquet column ``index``).

    Large text files are cached on disk (:mod:`ticketlab.resources.vector_cache`). Arrays are mapped into memory. Pickles are never read.

    :raises ResourceError: the file has another format, cannot be read, or has a number that is not finite in single precision.
    """
    try:
        if not path.is_file():
            raise ResourceError(f"{path}: {'a folder, a pipe or a device' if path.exists() else 'there is no such file'}; name a file")
        if path.suffix.lower() == ".npy":
            return _read_array(path)
        _check_text(path)
        words, matrix = vector_cache.cached(path, _read_text)
    except OSError as problem:
        raise ResourceError(f"{path}: cannot be read: {problem.strerror or problem}") from None
    return WordVectors(matrix, words)


def _read_array(path: Path) -> WordVectors:
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as problem:  # for an invalid header numpy raises whatever its Python parser does
        raise ResourceError(f"{path}: not a plain numpy array ({' '.join(str(problem).split())})") from None
    if matrix.dtype.kind not in "fiu":
        raise ResourceError(f"{path}: an array of {matrix.dtype}, but word vectors must be numbers")
    words = _words_of_array(path)
    if matrix.ndim != 2 or len(matrix) != len(words) or not matrix.size:
        raise ResourceError(
            f"{path}: {counted(len(words), 'word')} for an array of shape {matrix.shape}; there must be a row of numbers for each word"
        )
    if (row := _not_finite(matrix)) is not None:
        raise ResourceError(f"{path}: row {row} holds a number that is not finite")
    return WordVectors(matrix, words)


def _words_of_array(path: Path) -> list[str]:
    text = path.with_suffix(".txt")
    if text.exists():
        try:
            content = text.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as problem:
            line = problem.object.count(b"\n", 0, problem.start) + 1
            raise ResourceError(f"{text} line {line}: not UTF-8; convert the file to UTF-8") from None
        return content.split("\n")[: -1 if content.endswith("\n") else None]
    table = file_of_words(path)
    if table is None:
        raise ResourceError(f"{path}: its words are missing; put them into {text.name}, one per line")
    arrow: Any = importlib.import_module("pyarrow")  # installed with datasets
    try:
        column: list[Any] = importlib.import_module("pyarrow.parquet").read_table(table, columns=["index"]).column(0).to_pylist()
    except (arrow.ArrowException, ValueError, LookupError) as problem:
        raise ResourceError(f"{table}: not a parquet file with a column `index` of words: {' '.join(str(problem).split())}") from None
    if not all(isinstance(word, str) for word in column):
        raise ResourceError(f"{table}: the column `index` must contain only words")
    return column


def _not_finite(matrix: Any) -> int | None:
    """Return the first row with a number that is not finite in single precision, or None."""
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        with np.errstate(over="ignore"):
            part = matrix[start : start + _ROWS_AT_ONCE].astype(np.float32, copy=False)
        bad = np.flatnonzero(~np.isfinite(part).all(axis=1))
        if len(bad):
            return start + int(bad[0])
    return None


def _check_text(path: Path) -> None:
    """Check by its first bytes that a file is text.

    :raises ResourceError: it is not.
    """
    with path.open("rb") as file:
        start = file.read(4096)
    if b"\0" in start or start.startswith(_BINARY):
        raise ResourceError(
            f"{path}: not text but word2vec's binary format, an archive, an array or a pickle; unpack it, or write a word and its numbers "
            "per line (gensim: `vectors.save_word2vec_format(FILE, binary=False)`)"
        )


def _read_text(path: Path) -> tuple[list[str], Matrix]:
    words: list[str] = []
    rows: list[Matrix] = []
    header = 0
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file, np.errstate(over="ignore"):
        for number, line in enumerate(file, start=1):
            word, *values = line.rstrip().split(" ")
            if number == 1 and len(values) == 1:
                header = 1  # the header of word2vec: the two sizes
                continue
            if rows and len(values) > len(rows[0]) and not any(map(_is_number, values[: -len(rows[0])])):
                word, values = (
                    " ".join((word, *values[: -len(rows[0])])),
                    values[-len(rows[0]) :],
                )  # a token with spaces, such as `. . .` in GloVe 840B
            try:
                row = np.array(values, dtype=np.float32)
            except ValueError:
                raise ResourceError(f"{path} line {number}: not a word and its vector") from None
            if not len(row) or (rows and len(row) != len(rows[0])):
                raise ResourceError(
                    f"{path} line {number}: {counted(len(row), 'number')} where there should be {len(rows[0]) if rows else 'some'}"
                )
            words.append(word)
            rows.append(row)
    if not rows:
        raise ResourceError(f"{path}: it contains no word vectors")
    matrix = np.stack(rows)
    if (bad := _not_finite(matrix)) is not None:
        raise ResourceError(f"{path} line {bad + 1 + header}: a number is not finite")
    return words, matrix


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
