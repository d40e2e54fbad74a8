"""The key of a stage in the lab: the hash of everything that its result depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from ticketlab.backbone import fingerprint
from ticketlab.core import registry
from ticketlab.core.component import components_in
from ticketlab.core.references import split_checkpoint
from ticketlab.stages.base import Stage

FORMAT = 2
"""Increment it when a change makes every stage give different results with the same settings."""
BY_CONTENT = ("task", "max_length")
"""Settings of stages that are part of a key as ``data`` and ``max_length``."""


@frozen
class StageFacts:
    """What the key of a stage depends on in the stage alone. It is the same for every task and seed.

    ``external_inputs`` has the fingerprints of :meth:`Stage.external_inputs`.
    """

    settings: Mapping[str, Any]
    references: Mapping[str, str]
    components: Mapping[str, str]
    external_inputs: Mapping[str, str]

    @classmethod
    def of(cls, stage: Stage, external_inputs: Mapping[str, str] | None = None) -> StageFacts:
        """Return the facts of a stage. ``external_inputs`` replaces the fingerprints of its files, which are then not read."""
        known = registry.current()
        settings, references = stage.identity(), stage.references()
        for name in BY_CONTENT:
            settings.pop(name, None)
        settings |= dict.fromkeys(references, "")
        own = [] if type(stage).__module__.startswith("ticketlab.") else [stage]
        components = {
            f"{part.kind}/{known.name_of_class(type(part))}": known.version(part) for part in (*own, *components_in(stage, settings))
        }
        read = fingerprint.of_external_inputs(stage.external_inputs()) if external_inputs is None else external_inputs
        return cls(settings, references, components, read)


@frozen
class StageKeys:
    """Computes the keys of stages. A stage object that many recipes share is examined once, and so are the stages of a recipe."""

    _facts: dict[int, tuple[Stage, StageFacts]] = field(factory=dict)
    _keys: dict[tuple[Any, ...], str] = field(factory=dict)
    _checkpoints: dict[int, tuple[Mapping[str, Stage], Mapping[str, list[str]]]] = field(factory=dict)

    def facts(self, stage: Stage) -> StageFacts:
        """Return the facts of a stage."""
        if id(stage) not in self._facts:
            self._facts[id(stage)] = stage, StageFacts.of(stage)
        return self._facts[id(stage)][1]

    def checkpoints(self, stages: Mapping[str, Stage], name: str) -> list[str]:
        """Return the checkpoints of a stage that other ``stages`` of its recipe use, sorted."""
        if id(stages) not in self._checkpoints:
            found: dict[str, set[str]] = {}
            for stage in stages.values():
                for referenced, at in map(split_checkpoint, self.facts(stage).references.values()):
                    if at:
                        found.setdefault(referenced, set()).add(at)
            self._checkpoints[id(stages)] = stages, {referenced: sorted(steps) for referenced, steps in found.items()}
        return self._checkpoints[id(stages)][1].get(name, [])

    def key(self, stage: Stage, *, inputs: Mapping[str, str], seed: int, **others: Any) -> str:
        """Return :func:`stage_key` of a stage."""
        facts = self.facts(stage)
        name = (id(stage), *inputs.values(), seed if stage.seeded else None, *others.values())
        if name not in self._keys:
            self._keys[name] = stage_key(stage, facts, inputs=inputs, seed=seed, **others)
        return self._keys[name]


def stage_key(
    stage: Stage,
    facts: StageFacts,
    *,
    inputs: Mapping[str, str],
    data: str,
    model: str,
    max_length: int,
    precision: str,
    seed: int,
    threads: int,
) -> str:
    """Return the key of a stage: 64 hex digits.

    ``inputs`` has the key or fingerprint of each reference; ``data`` and ``model`` are fingerprints. References and a task of
    the stage's own are hashed by content, not by name. The seed is part of the key only if the stage uses it.
    """
    parts: dict[str, Any] = {
        "format": FORMAT,
        "kind": stage.name,
        "version": stage.version,
        "settings": {**facts.settings, **{name: inputs[name] for name in facts.references}},
        "components": facts.components,
        "outside": facts.external_inputs,
        "data": data,
        "model": model,
        "max_length": max_length,
        "precision": precision,
        "seed": seed if stage.seeded else None,
        "threads": threads,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
