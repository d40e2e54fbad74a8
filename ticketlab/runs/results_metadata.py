"""What a ``results.json`` says beside the numbers: of which data, of which model, and with which settings they are."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from ticketlab.core.settings import to_table
from ticketlab.recipes.recipe import split_checkpoint
from ticketlab.stages.base import Stage
from ticketlab.tasks.base import TaskData

MEASURING = ("evaluate", "attack")
"""The kinds of stages whose settings stand beside their numbers."""


def of_data(tasks: Mapping[str, TaskData], sets: Sequence[TaskData]) -> dict[str, Any]:
    """Return what results say of the tasks and, after them, of the challenge sets; one that is called like a task says so."""
    found = {label: _about(read) for label, read in tasks.items()}
    for read in sets:
        found[f"{read.name} (ood)" if read.name in found else read.name] = _about(read)
    return found


def of_stage(stage: Stage, finished: Container[str]) -> dict[str, Any]:
    """Return which stages a stage starts from, by setting, of which model or checkpoint it says something, and a measurement's settings.

    Of a model from outside the recipe ``of`` is where it is.
    """
    references = stage.references()
    inputs = {field: value for field, value in references.items() if split_checkpoint(value)[0] in finished}
    found: dict[str, Any] = {"inputs": inputs}
    if "model" in references:
        of, at = split_checkpoint(references["model"]) if "model" in inputs else (references["model"], "")
        found |= {"of": of, **({"at": at} if at else {})}
    return found | _settings(stage)


def plain(value: Any) -> Any:
    """Return the value of a setting as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


def _settings(stage: Stage) -> dict[str, Any]:
    """Return the settings that the numbers of a measurement depend on, attacks by label; of other stages nothing."""
    if stage.name not in MEASURING:
        return {}
    settings = {name: value for name, value in stage.identity().items() if name not in stage.references()}
    attacks = {attack.label: to_table(attack, identity_only=True) for attack in getattr(stage, "attacks", ())}
    return {"settings": {**settings, **({"attacks": attacks} if attacks else {})}}


def _about(data: TaskData) -> dict[str, Any]:
    return {
        "fingerprint": data.fingerprint,
        "rows": {split: len(examples) for split, examples in data.splits.items()},
        "columns": list(data.columns),
        "labels": list(data.label_names),
        "positive_label": data.positive_label,
        "measures": list(data.measures),
        "dropped": dict(data.dropped),
        "counts": dict(data.counts),
        "notices": list(data.notices),
        "warnings": list(data.warnings),
    }
