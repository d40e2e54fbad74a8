"""Fingerprints of models and files that a recipe refers to, by content rather than path."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

from ticketlab.backbone import loading
from ticketlab.backbone.adapters import Adapter, adapter_of, has_adapter
from ticketlab.backbone.onnx_classifier import is_onnx
from ticketlab.core import registry
from ticketlab.core.files import expand, read_json

CONFIG = "config.json"
MODEL_FILE_SUFFIXES = (".safetensors", ".bin", ".json", ".txt", ".model")
"""The files of a folder that are part of its fingerprint: weights, configurations and vocabularies."""
ONNX_SUFFIXES = (".onnx", ".data")
"""The weights of a model that is an ONNX file."""


def of_path(path: str) -> str:
    """Return the sha256 of a file, or of the model and tokenizer files in a folder with their names and its adapter.

    The adapter of a model is named only if a plugin provides it.
    """
    expanded = expand(path)
    suffixes = (*MODEL_FILE_SUFFIXES, *(ONNX_SUFFIXES if is_onnx(expanded) else ()))
    files = [expanded] if expanded.is_file() else sorted(file for file in expanded.iterdir() if file.suffix in suffixes)
    digest = hashlib.sha256()
    for file in files:
        if expanded.is_dir():
            digest.update(file.name.encode())
        stat = file.stat()
        digest.update(_content(file, stat.st_size, stat.st_mtime_ns))
    return f"sha256:{digest.hexdigest()}{_adapter(_model_type(expanded / CONFIG))}"


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
    if expand(name).exists():
        return of_path(name)
    commit, model_type = _of_hub(name)
    return f"hub:{name}@{commit}{_adapter(model_type)}"


@functools.lru_cache(maxsize=64)
def _of_hub(name: str) -> tuple[str | None, str]:
    config = loading.load_config(name, name)
    return getattr(config, "_commit_hash", None), config.model_type


def _model_type(config: Path) -> str:
    """Return the family of a model, empty if the file of its config does not exist or tell."""
    try:
        content = read_json(config)
    except (OSError, ValueError):
        return ""
    return str(content.get("model_type", "")) if isinstance(content, dict) else ""


def _adapter(model_type: str) -> str:
    """Return the name and the version of a family's adapter if it is a plugin's, otherwise an empty string."""
    known = registry.current()
    if all(entry.source.is_built_in for entry in known.by_kind().get(Adapter.kind, ())) or not has_adapter(model_type):
        return ""
    adapter = adapter_of(model_type)
    return "" if known.source(adapter).is_built_in else f" {adapter.kind}/{adapter.label} {known.version(adapter)}"
