"""The files of word vectors: an array in one file has its words in another one."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import packages


def files_of(name: str | None, path: str) -> dict[str, str]:
    """Return the files of the word vectors at ``path``: the array and that of its words, if it has one. ``name`` is what was asked for.

    An installed package is identified by its array alone, because its words do not change without it.
    """
    found = {"word_vectors": path}
    if name is not None and name not in packages.WORD_VECTORS and Path(path).suffix == ".npy":
        words = file_of_words(Path(path))
        found |= {} if words is None else {"word_vectors_words": str(words)}
    return found


def file_of_words(path: Path) -> Path | None:
    """Return the file with the words of an array, or None."""
    text = path.with_suffix(".txt")
    tables = sorted(path.parent.glob("*_index.parquet"))
    return text if text.exists() else tables[0] if len(tables) == 1 else None
