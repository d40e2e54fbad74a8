"""The key of a stage in the lab: the hash of everything that its result depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterator, Mapping
from typing import Any

import attrs

from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.stages.base import Stage

FORMAT = 2
"""Increment it when a change makes every stage give different results with the same settings."""


def stage_key(
    stage: Stage,
    *,
    inputs: Mapping[str, str],
    external_inputs: Mapping[str, str],
    data: str,
    model: str,
    max_length: int,
    precision: str,
    seed: int,
    threads: int,
) -> str:
    """Return the key of a stage: 64 hex digits.

    ``inputs`` has the key or fingerprint of each reference; ``external_inputs`` has the fingerprints of :meth:`Stage.external_inputs`;
    ``data`` and ``model`` are fingerprints. References are hashed by content, not by name. The seed is part of the key only if the stage
    uses it.
    """
    settings = stage.identity()
    for field in stage.references():
        settings[field] = inputs[field]
    parts: dict[str, Any] = {
        "format": FORMAT,
        "kind": stage.name,
        "version": stage.version,
        "settings": settings,
        "components": {f"{part.kind}/{part.name}": registry.current().version(part) for part in components_in(stage, settings)},
        "outside": dict(external_inputs),
        "data": data,
        "model": model,
        "max_length": max_length,
        "precision": precision,
        "seed": seed if stage.seeded else None,
        "threads": threads,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def components_in(component: Component, among: Container[str] | None = None) -> Iterator[Component]:
    """Yield the components in the settings of a component, and theirs recursively; ``among`` restricts the settings at the top level."""
    for field in attrs.fields(type(component)):
        value = getattr(component, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Component) and (among is None or field.name in among):
                yield part
                yield from components_in(part)
