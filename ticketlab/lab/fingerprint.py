"""What identifies a model that a recipe starts from, by content and not by path."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from ticketlab.backbone import loading

WEIGHTS_AND_WORDS = (".safetensors", ".bin", ".json", ".txt", ".model")


@functools.lru_cache(maxsize=64)
def of_path(path: str) -> str:
    """Return the sha256 of a file, or of the model and tokenizer files in a folder, names included."""
    place = Path(path)
    files = [place] if place.is_file() else sorted(file for file in place.iterdir() if file.suffix in WEIGHTS_AND_WORDS)
    digest = hashlib.sha256()
    for file in files:
        if place.is_dir():
            digest.update(file.name.encode())
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"


@functools.lru_cache(maxsize=64)
def of_model(name: str) -> str:
    """Return the fingerprint of a resolved model: of its folder's content, or the hub's commit."""
    if Path(name).exists():
        return of_path(name)
    commit = getattr(loading.load_config(name, name), "_commit_hash", None)
    return f"hub:{name}@{commit}"
