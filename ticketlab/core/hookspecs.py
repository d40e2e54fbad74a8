"""All hooks.

A plugin is a module or object with functions of these names, marked with ``@ticketlab.plugin.hookimpl``. Most return
components: classes, or :class:`Lazy` references to classes that are imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pluggy
from attrs import frozen

from ticketlab.core.component import Component

hookspec = pluggy.HookspecMarker("ticketlab")
hookimpl = pluggy.HookimplMarker("ticketlab")


@frozen
class Lazy:
    """A component that is imported on first use. Listing it imports nothing."""

    name: str
    summary: str
    target: str
    """``"package.module:Class"``"""


Components = Iterable[type[Component] | Lazy]
HOOK_OF_KIND = {
    "pruner": "ticketlab_pruners",
    "adversary": "ticketlab_adversaries",
    "loss": "ticketlab_losses",
    "bias model": "ticketlab_bias_models",
    "attack": "ticketlab_attacks",
    "task": "ticketlab_tasks",
    "objective": "ticketlab_objectives",
    "stop rule": "ticketlab_stop_rules",
    "backbone": "ticketlab_backbones",
    "executor": "ticketlab_executors",
}
"""The hook that returns the components of each kind."""


@hookspec
def ticketlab_pruners() -> Components:  # type: ignore[empty-body]
    """Return pruners: ways to score the units of a backbone."""


@hookspec
def ticketlab_adversaries() -> Components:  # type: ignore[empty-body]
    """Return adversaries: ways to perturb the word embeddings during training."""


@hookspec
def ticketlab_losses() -> Components:  # type: ignore[empty-body]
    """Return losses of a classification task."""


@hookspec
def ticketlab_bias_models() -> Components:  # type: ignore[empty-body]
    """Return bias models: features of the shortcuts that debiasing losses correct for."""


@hookspec
def ticketlab_attacks() -> Components:  # type: ignore[empty-body]
    """Return text attacks, to measure robustness with."""


@hookspec
def ticketlab_tasks() -> Components:  # type: ignore[empty-body]
    """Return tasks: data sets with their columns, label names and splits."""


@hookspec
def ticketlab_objectives() -> Components:  # type: ignore[empty-body]
    """Return objectives: what a training stage minimises."""


@hookspec
def ticketlab_stop_rules() -> Components:  # type: ignore[empty-body]
    """Return stop rules: when a search ends before its last epoch."""


@hookspec
def ticketlab_backbones() -> Components:  # type: ignore[empty-body]
    """Return adapters: where a model family keeps its heads, neurons and weight matrices."""


@hookspec
def ticketlab_executors() -> Components:  # type: ignore[empty-body]
    """Return executors: where the cells of an ablation run."""


@hookspec
def ticketlab_recipes() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return recipes: a name and the path of a TOML file for each."""


@hookspec
def ticketlab_on_log(record: Mapping[str, Any]) -> None:
    """Called with every record that a run writes to ``log.jsonl``."""


@hookspec
def ticketlab_stage_finished(stage: str, result: Mapping[str, Any]) -> None:
    """Called when the result of a stage of a run has been computed or found in the lab."""
