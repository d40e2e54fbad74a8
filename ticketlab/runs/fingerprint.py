"""Fingerprints of models and files that a recipe refers to, by content rather than path."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

from ticketlab.backbone import loading
from ticketlab.core.files import expand

MODEL_FILE_SUFFIXES = (".safetensors", ".bin", ".json", ".txt", ".model")
"""The files of a folder that are part of its fingerprint: weights, configurations and vocabularies."""


def of_path(path: str) -> str:
    """Return the sha256 of a file, or of the model and tokenizer files in a folder with their names."""
    expanded = expand(path)
    files = [expanded] if expanded.is_file() else sorted(file for file in expanded.iterdir() if file.suffix in MODEL_FILE_SUFFIXES)
    digest = hashlib.sha256()
    for file in files:
        if expanded.is_dir():
            digest.update(file.name.encode())
        stat = file.stat()
        digest.update(_content(file, stat.st_size, stat.st_mtime_ns))
    return f"sha256:{digest.hexdigest()}"


@functools.lru_cache(maxsize=512)
def _content(file: Path, size: int, changed: int) -> bytes:
    """Return the sha256 of a file. It is read again only if its size or modification time changes."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def of_external_inputs(paths: Mapping[str, str]) -> dict[str, str]:
    """Return the fingerprints of :meth:`ticketlab.stages.base.Stage.external_inputs`, without those of paths that do not exist."""
    fingerprints = {
        name: path if path.startswith("sha256:") else of_path(path) if expand(path).exists() else "" for name, path in paths.items()
    }
    return {name: fingerprint for name, fingerprint in fingerprints.items() if fingerprint}


def of_model(name: str) -> str:
    """Return the fingerprint of a resolved model: of its folder's content, or the commit on the hub."""
    return of_path(name) if expand(name).exists() else _of_hub(name)


@functools.lru_cache(maxsize=64)
def _of_hub(name: str) -> str:
    commit = getattr(loading.load_config(name, name), "_commit_hash", None)
    return f"hub:{name}@{commit}"
