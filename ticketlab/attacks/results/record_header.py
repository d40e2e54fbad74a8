"""The header of a file of records: what was attacked, and how."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from ticketlab.attacks.base import Attack
from ticketlab.core.settings import to_table
from ticketlab.resources.resources import Resources
from ticketlab.tasks.base import TaskData


def facts(
    attack: Attack,
    resources: Resources,
    data: TaskData,
    *,
    model: str,
    split: str,
    size: int,
    seed: int,
    max_length: int,
    precision: str,
    timeout: float | None = None,
    similarity_encoder: str | None = None,
) -> dict[str, Any]:
    """Return the facts in the header of a :class:`~ticketlab.attacks.results.record_file.RecordFile`.

    They do not depend on the number of workers or of examples in flight. ``model`` is the name to show for the victim; the sample is
    ``size`` examples of ``split``, picked with ``seed``.
    """
    return {
        "attack": attack.label,
        "settings": to_table(attack, identity_only=True),
        "resources": resources.found(attack.resource_names()),
        "textattack": _version("textattack"),
        "model": model,
        "max_length": max_length,
        "precision": precision,
        "timeout": timeout,
        "similarity_encoder": similarity_encoder,
        "task": data.name,
        "columns": list(data.columns),
        "labels": list(data.label_names),
        "sample": {"split": split, "size": size, "seed": seed},
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
