"""The key of a stage: the hash of everything that its result depends on."""

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
"""Raise it when the same settings start to give other results for every stage."""


def stage_key(
    stage: Stage,
    *,
    inputs: Mapping[str, str],
    outside: Mapping[str, str],
    data: str,
    model: str,
    max_length: int,
    precision: str,
    seed: int,
    threads: int,
) -> str:
    """Return the key of a stage: 64 hex digits.

    ``inputs`` has the keys (or fingerprints) of what the references came to, ``outside`` the fingerprints of :meth:`Stage.outside`;
    ``data`` and ``model`` are fingerprints. References count by what they are, not by name, and the run's seed only where the stage
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
        "outside": dict(outside),
        "data": data,
        "model": model,
        "max_length": max_length,
        "precision": precision,
        "seed": seed if stage.seeded else None,
        "threads": threads,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def components_in(component: Component, among: Container[str] | None = None) -> Iterator[Component]:
    """Yield the components among the settings of a component (those called ``among``), and theirs."""
    for field in attrs.fields(type(component)):
        value = getattr(component, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Component) and (among is None or field.name in among):
                yield part
                yield from components_in(part)
