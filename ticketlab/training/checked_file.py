"""Files of tensors and one JSON value, with a checksum: what is read is what was written. Nothing is pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ticketlab.core import disk_and_memory, files
from ticketlab.training import checksum

CHECKSUM = "checksum"


def write(path: Path, tensors: Mapping[str, Tensor], name: str, value: Any) -> None:
    """Write contiguous tensors on the CPU, and a JSON value under ``name``, atomically."""
    text = json.dumps(value)
    metadata = {name: text, CHECKSUM: checksum.of_tensors(tensors, text=text)}
    files.write_atomic(path, lambda temporary: save_file(dict(tensors), temporary, metadata=metadata))


def read(path: Path, name: str) -> tuple[dict[str, Tensor], Any] | None:
    """Return the tensors and the value under ``name``; None if there is no file.

    :raises ValueError: the file is not what was written; the message says why.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a mapping
            metadata = file.metadata() or {}
        text = metadata[name]
        if metadata[CHECKSUM] != checksum.of_tensors(tensors, text=text):
            raise ValueError("its checksum does not match")
        return tensors, json.loads(text)
    except (SafetensorError, KeyError, TypeError, ValueError) as problem:
        if disk_and_memory.kind(problem):
            raise
        raise ValueError(f"no {problem}" if isinstance(problem, KeyError) else str(problem)) from problem


def read_value(path: Path, name: str) -> Any:
    """Return the value under ``name`` without reading the tensors; None if there is no such file, or it is damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            return json.loads(file.metadata()[name])
    except (OSError, SafetensorError, KeyError, ValueError, TypeError):
        return None
