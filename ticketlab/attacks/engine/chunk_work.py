"""What the driver of an attack and the workers of an executor agree on: the work of a chunk of examples, and the messages about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticketlab.attacks.base import Attack
from ticketlab.backbone import fingerprint
from ticketlab.core.settings import component_table
from ticketlab.executors.base import PROCESS_MEMORY
from ticketlab.lab import integrity
from ticketlab.lab.lab import Lab
from ticketlab.resources.resources import Resources
from ticketlab.tasks.base import Example

if TYPE_CHECKING:
    from ticketlab.attacks.engine.attacker import Attacker

RESOURCES_MEMORY = 10**9
"""Bytes of the word vectors and encoders of an attack, estimated."""
FUNCTION = "ticketlab.attacks.engine.chunk:attack_chunk"
BEGUN, RECORD, FAILURE = "attack begun", "attack record", "attack failure"
"""The kinds of messages about a chunk: its attack is loaded, and the outcome of an example."""


def model_reference(location: str, lab: Lab) -> dict[str, str]:
    """Return where workers find a model: the stage of the lab that wrote it, or else its folder or name, and its fingerprint."""
    path = Path(location).absolute()
    for key in integrity.keys_in(location):
        folder = lab.stage(key).absolute()
        if folder in path.parents:
            return {"stage": key, "folder": path.relative_to(folder).as_posix()}
    return {"place": location, "fingerprint": fingerprint.of_model(location)}


def arguments_of(attacker: Attacker, model: Mapping[str, str]) -> dict[str, Any]:
    """Return what is the same for all chunks of an attack, as JSON values."""
    victim = attacker.victim
    return {
        "model": dict(model),
        "device": victim.device.type,
        "precision": victim.precision,
        "max_length": victim.max_length,
        "outputs": list(victim.label_names),
        "attack": component_table(attacker.attack),
        "resources": fingerprints(attacker.attack, attacker.resources),
        "columns": list(attacker.columns),
        "labels": list(attacker.label_names),
        "seed": attacker.seed,
        "timeout": attacker.timeout,
    }


def memory_of(attacker: Attacker) -> int:
    """Return an estimate of the bytes of main memory of a worker: a process, what the attack loads, and on the CPU the weights."""
    victim = attacker.victim
    weights = sum(weight.nbytes for weight in victim.model.parameters()) if victim.device.type == "cpu" else 0
    return PROCESS_MEMORY + RESOURCES_MEMORY + weights


def fingerprints(attack: Attack, resources: Resources) -> dict[str, str]:
    """Return the fingerprints of the resources of an attack, by their names."""
    return fingerprint.of_external_inputs(resources.identity(attack.resource_names()))


def to_plain(examples: Sequence[Example]) -> list[list[Any]]:
    """Return examples as JSON values, which :func:`from_plain` reads. An attack needs no subsets."""
    return [[example.id, list(example.texts), example.label] for example in examples]


def from_plain(values: Sequence[Sequence[Any]]) -> list[Example]:
    """Read what :func:`to_plain` returned."""
    return [Example(name, tuple(texts), label) for name, texts, label in values]
