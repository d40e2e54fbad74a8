"""Word vectors that were read from a text file, kept on disk as an array that later processes map into memory."""

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
"""Words, and one row each."""

SMALLEST = 4 << 20
"""Files of fewer bytes are read in less time than it takes to look them up."""
_FORMAT = 1


def kept(path: Path, read: Callable[[Path], Vectors]) -> Vectors:
    """Return what ``read`` makes of a file; it is called once for each content, and again when what was kept of it is broken.

    The folder is ``ticketlab/word-vectors`` in the user's cache (``$XDG_CACHE_HOME``); it can be deleted at any time. Where it cannot be
    written, the file is read each time.
    """
    if path.stat().st_size < SMALLEST:
        return read(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    place = platformdirs.user_cache_path("ticketlab") / "word-vectors" / f"{digest[:32]}-{_FORMAT}"
    found = _load(place)
    if found is None:
        found = read(path)
        with contextlib.suppress(OSError):
            _keep(place, *found)
    return found


def _load(place: Path) -> Vectors | None:
    try:
        words = (place / "words.txt").read_bytes().decode().split("\n")
        matrix = np.load(place / "vectors.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    good = matrix.ndim == 2 and matrix.dtype == np.float32 and matrix.flags.c_contiguous and len(matrix) == len(words)
    return (words, matrix) if good else None


def _keep(place: Path, words: list[str], matrix: NDArray[np.float32]) -> None:
    """Put both files in place at once, so that nobody finds one of them."""
    temporary = place.with_name(f".{uuid.uuid4().hex}")
    temporary.mkdir(parents=True)
    try:
        np.save(temporary / "vectors.npy", matrix, allow_pickle=False)
        (temporary / "words.txt").write_bytes("\n".join(words).encode())
        shutil.rmtree(place, ignore_errors=True)
        temporary.rename(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
