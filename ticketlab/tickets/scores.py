"""The file of a search's scores: one float tensor per group of units, ranked by ``draw``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity


def save_scores(scores: Mapping[str, Tensor], path: Path) -> None:
    """Write scores atomically."""
    tensors = {name: score.contiguous() for name, score in scores.items()}
    files.write_atomic(path, lambda temporary: save_file(tensors, temporary))


def load_scores(path: Path) -> dict[str, Tensor]:
    """Read scores.

    :raises UsageError: the file is missing or is not a file of scores.
    :raises Damaged: it was changed after the search wrote it.
    """
    integrity.check(path)
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as problem:
        raise UsageError(f"{path}: not a file of scores, or damaged ({problem})") from None
