"""Metadata in ``results.json``: the data, the model and the settings that the numbers belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

from attrs import asdict

from ticketlab.core.references import split_checkpoint, stage_of
from ticketlab.core.settings import to_table
from ticketlab.lab.layout import MODEL
from ticketlab.stages.base import Stage
from ticketlab.tasks.base import Example, TaskData


def data_metadata(tasks: Mapping[str, TaskData], sets: Sequence[TaskData]) -> dict[str, Any]:
    """Return the metadata of the tasks and then of the challenge sets; a set with the name of a task gets the suffix `` (ood)``."""
    found = {label: _data_set_metadata(read) for label, read in tasks.items()}
    for read in sets:
        found[f"{read.name} (ood)" if read.name in found else read.name] = _data_set_metadata(read)
    return found


def stage_metadata(stage: Stage, finished: Container[str]) -> dict[str, Any]:
    """Return the stages that a stage takes as inputs, by setting; the measured model ``of`` and checkpoint ``at``; and the settings.

    For an external model, ``of`` is its path or name. Only stages that measure a model have settings. ``replaces`` and
    ``model_folder`` are those of the stage's class, unless they have their defaults.
    """
    references = stage.references()
    inputs = {field: value for field, value in references.items() if stage_of(value) in finished}
    found: dict[str, Any] = {"inputs": inputs}
    found |= {"replaces": list(stage.replaces)} if stage.replaces else {}
    found |= {"model_folder": stage.model_folder} if stage.model_folder != MODEL else {}
    if "model" in references:
        of, at = split_checkpoint(references["model"]) if "model" in inputs else (references["model"], "")
        found |= {"of": of, **({"at": at} if at else {})}
    return found | _measurement_settings(stage)


def json_value(value: Any) -> Any:
    """Return the value that a setting has after a round trip through JSON."""
    return list(value) if isinstance(value, tuple) else value


def _measurement_settings(stage: Stage) -> dict[str, Any]:
    """Return the settings that the numbers of a measurement depend on, with attacks by label; empty for other stages."""
    if not stage.measures_model:
        return {}
    settings = {name: value for name, value in stage.identity().items() if name not in (*stage.references(), "task")}
    attacks = {attack.label: to_table(attack, identity_only=True) for attack in getattr(stage, "attacks", ())}
    return {"settings": {**settings, **({"attacks": attacks} if attacks else {})}}


def class_counts(data: TaskData, examples: Sequence[Example]) -> dict[str, int]:
    """Return the number of examples of each label, by its name."""
    counts = Counter(example.label for example in examples)
    return {name: counts[index] for index, name in enumerate(data.label_names)}


def _data_set_metadata(data: TaskData) -> dict[str, Any]:
    found = {
        "fingerprint": data.fingerprint,
        "rows": {split: len(examples) for split, examples in data.splits.items()},
        "columns": list(data.columns),
        "labels": list(data.label_names),
        "classes": {split: class_counts(data, examples) for split, examples in data.splits.items()},
        "positive_label": data.positive_label,
        "measures": list(data.measures),
        "dropped": dict(data.dropped),
        "counts": dict(data.counts),
        "notices": list(data.notices),
        "warnings": list(data.warnings),
    }
    return found if data.shortcut is None else {**found, "shortcut": asdict(data.shortcut)}
