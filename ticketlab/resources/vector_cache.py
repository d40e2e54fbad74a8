"""The disk cache of word vectors: the content of a text file as an array that later processes map into memory."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

Vectors = tuple[list[str], NDArray[np.float32]]
"""Words, and a matrix with a row for each."""

SMALLEST = 4 << 20
"""Files smaller than this, in bytes, are read faster than they are looked up in the cache."""
_FORMAT = 1


def cached(path: Path, read: Callable[[Path], Vectors]) -> Vectors:
    """Return the vectors that ``read`` reads from a file; it is called once per content, and again if the cache entry is damaged.

    The cache is ``ticketlab/word-vectors`` in the user's cache folder (``$XDG_CACHE_HOME``), and can be deleted at any time. If it is not
    writable, the file is read every time.
    """
    if path.stat().st_size < SMALLEST:
        return read(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    place = platformdirs.user_cache_path("ticketlab") / "word-vectors" / f"{digest[:32]}-{_FORMAT}"
    vectors = _load(place)
    if vectors is None:
        vectors = read(path)
        with contextlib.suppress(OSError):
            _store(place, *vectors)
    return vectors


def _load(place: Path) -> Vectors | None:
    try:
        words = (place / "words.txt").read_bytes().decode().split("\n")
        matrix = np.load(place / "vectors.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    valid = matrix.ndim == 2 and matrix.dtype == np.float32 and matrix.flags.c_contiguous and len(matrix) == len(words)
    return (words, matrix) if valid else None


def _store(place: Path, words: list[str], matrix: NDArray[np.float32]) -> None:
    """Move both files into place atomically."""
    temporary = place.with_name(f".{uuid.uuid4().hex}")
    temporary.mkdir(parents=True)
    try:
        np.save(temporary / "vectors.npy", matrix, allow_pickle=False)
        (temporary / "words.txt").write_bytes("\n".join(words).encode())
        shutil.rmtree(place, ignore_errors=True)
        temporary.rename(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
