"""References of a recipe that lead out of it: a file, a folder, or a model."""

from __future__ import annotations

from ticketlab import files
from ticketlab.backbone import loading
from ticketlab.errors import UsageError
from ticketlab.lab import fingerprint
from ticketlab.stages.base import RESULT, Input

MODELS = ("model", "start", "teacher")
"""References that mean a model."""


def resolve(field: str, value: str) -> tuple[Input, str]:
    """Return what a reference that names no stage came to, and its fingerprint.

    :raises UsageError: there is no such file, or no such model.
    """
    path = files.expand(value)
    if field in MODELS:
        resolved = loading.resolve_model(str(path / "model") if (path / "model").is_dir() else value)
        return Input(resolved, is_stage=False), fingerprint.of_model(resolved)
    if not path.exists():
        raise UsageError(f"{value}: there is no such file")
    return Input(str(path), is_stage=(path / RESULT).is_file()), fingerprint.of_path(str(path))
