"""What the first line of a file of records says for the reader: what was attacked, and with what."""

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
    """Return the facts of a :class:`~ticketlab.attacks.results.records.RecordFile`: nothing that depends on how the work was shared out.

    ``model`` is what to call the victim; the sample is ``size`` examples of ``split``, picked with ``seed``.
    """
    return {
        "attack": attack.label,
        "settings": to_table(attack, identity_only=True),
        "resources": resources.found(attack.needed()),
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
