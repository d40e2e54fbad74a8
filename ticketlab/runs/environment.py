"""The environment of a run: versions, device and threads. It is recorded with the run and never part of a result."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
from typing import Any

import torch

from ticketlab.core import registry

PACKAGES = ("ticketlab", "torch", "transformers", "datasets", "tokenizers", "numpy", "safetensors", "textattack", "pluggy", "attrs")


def describe() -> dict[str, Any]:
    """Return the content of ``environment.json``."""
    known = registry.current()
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "plugins": {source.label: known.version_of(source) for source in known.sources},
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "deterministic": not torch.cuda.is_available() or torch.are_deterministic_algorithms_enabled(),
        "threads": torch.get_num_threads(),
    }


@functools.cache
def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
