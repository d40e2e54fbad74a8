"""The environment of a run: versions, device and threads. It is recorded with the run and never part of a result."""

from __future__ import annotations

import platform
from typing import Any

import torch

from ticketlab.backbone.device import pick_device
from ticketlab.core import package_versions, registry
from ticketlab.training import parallel


def describe() -> dict[str, Any]:
    """Return the content of ``environment.json``."""
    known, device = registry.current(), pick_device().type
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version for name in package_versions.RECORDED if (version := package_versions.version(name))},
        "plugins": {source.label: known.version_of(source) for source in known.sources},
        "device": torch.cuda.get_device_name() if device == "cuda" else device,
        "deterministic": device == "cpu" or torch.are_deterministic_algorithms_enabled(),
        "threads": torch.get_num_threads(),
        "processes": 1 if (group := parallel.group()) is None else group.number,
    }
