"""What identifies a model that a recipe starts from, by content and not by path."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

from ticketlab.backbone import loading
from ticketlab.core.files import expand

WEIGHTS_AND_WORDS = (".safetensors", ".bin", ".json", ".txt", ".model")


def of_path(path: str) -> str:
    """Return the sha256 of a file, or of the model and tokenizer files in a folder, names included."""
    place = expand(path)
    files = [place] if place.is_file() else sorted(file for file in place.iterdir() if file.suffix in WEIGHTS_AND_WORDS)
    digest = hashlib.sha256()
    for file in files:
        if place.is_dir():
            digest.update(file.name.encode())
        state = file.stat()
        digest.update(_content(file, state.st_size, state.st_mtime_ns))
    return f"sha256:{digest.hexdigest()}"


@functools.lru_cache(maxsize=512)
def _content(file: Path, size: int, changed: int) -> bytes:
    """Return the sha256 of a file, read once for as long as its size and time stay."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def of_external_input(places: Mapping[str, str]) -> dict[str, str]:
    """Return the fingerprints of :meth:`ticketlab.stages.base.Stage.external_inputs`; a place that does not exist has none."""
    named = {
        name: place if place.startswith("sha256:") else of_path(place) if expand(place).exists() else "" for name, place in places.items()
    }
    return {name: found for name, found in named.items() if found}


def of_model(name: str) -> str:
    """Return the fingerprint of a resolved model: of its folder's content, or the hub's commit."""
    return of_path(name) if expand(name).exists() else _of_hub(name)


@functools.lru_cache(maxsize=64)
def _of_hub(name: str) -> str:
    commit = getattr(loading.load_config(name, name), "_commit_hash", None)
    return f"hub:{name}@{commit}"
