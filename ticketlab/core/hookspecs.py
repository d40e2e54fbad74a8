"""All hooks.

A plugin is a module or object with functions of these names, marked with ``@ticketlab.plugin.hookimpl``. Most return
components: classes, or :class:`Lazy` references to classes that are imported on first use.

Those of :data:`EVENTS` listen to runs. Such a function takes any of the arguments, by their names. It gets copies, so it cannot change a
result, and is called in the process that computes the stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
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
    """The name of the component, as in its class."""
    summary: str
    """Its summary, for lists."""
    target: str
    """``"package.module:Class"``"""


@frozen
class RunInfo:
    """What listeners get to know about a run. For stages that a study computes, before the runs of its cells, it describes the study."""

    directory: Path
    """The absolute path of the run's directory, or of the study's. Unless the lab is read-only, a listener may write files there."""
    name: str
    """The name of the run."""
    recipe: str
    """The name of the recipe."""
    model: str
    """The model of the recipe."""
    precision: str
    """The precision of the run."""
    tasks: tuple[str, ...]
    """The names of the tasks."""
    seeds: tuple[int, ...]
    """The seeds."""
    settings: Mapping[str, Any]
    """The recipe as a table with every setting, as in ``recipe.toml``."""


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
    "metric": "ticketlab_metrics",
    "stage": "ticketlab_stages",
    "executor": "ticketlab_executors",
}
"""The hook that returns the components of each kind."""


EVENTS = ("ticketlab_run_started", "ticketlab_stage_started", "ticketlab_on_log", "ticketlab_stage_finished", "ticketlab_run_finished")
"""The hooks of listeners, in the order in which they are called."""


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
def ticketlab_metrics() -> Components:  # type: ignore[empty-body]
    """Return metrics: numbers that evaluations compute from the predictions of a model."""


@hookspec
def ticketlab_stages() -> Components:  # type: ignore[empty-body]
    """Return stages: kinds of steps of a recipe."""


@hookspec
def ticketlab_executors() -> Components:  # type: ignore[empty-body]
    """Return executors: where the stages of studies and runs are computed."""


@hookspec
def ticketlab_recipes() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return recipes: a name and the path of a TOML file for each."""


@hookspec
def ticketlab_run_started(run: RunInfo) -> None:
    """Called when a run begins, before its first stage. Its directory exists."""


@hookspec
def ticketlab_stage_started(
    run: RunInfo, stage: str, kind: str, task: str, seed: int, key: str, settings: Mapping[str, Any], directory: Path
) -> None:
    """Called before a stage of a run is looked up in the lab, or else computed.

    ``stage`` is its name and ``kind`` the kind of stage; ``task`` is empty for a stage that uses none. ``directory`` is the folder of
    the stage in the lab.
    """


@hookspec
def ticketlab_on_log(run: RunInfo, record: Mapping[str, Any]) -> None:
    """Called with every record that a run or study writes to ``log.jsonl``: ``event``, ``stage``, ``task``, ``seed``, and numbers.

    The event ``epoch`` has the loss, and the metrics on the development data of each epoch of a training.
    """


@hookspec
def ticketlab_stage_finished(
    run: RunInfo,
    stage: str,
    kind: str,
    task: str,
    seed: int,
    key: str,
    settings: Mapping[str, Any],
    directory: Path,
    found: bool,
    result: Mapping[str, Any],
) -> None:
    """Called when the result of a stage of a run has been computed, or ``found`` in the lab. Not called for a stage that fails.

    ``result`` is what the stage stored, with the history of a training; ``directory`` has its outputs, such as ``model/``. The other
    arguments are those of ``ticketlab_stage_started``.
    """


@hookspec
def ticketlab_run_finished(run: RunInfo, status: str, error: str, results: Mapping[str, Any]) -> None:
    """Called when a run ends, however it does. ``status`` is ``finished``, ``failed`` or ``interrupted``.

    ``results`` is the content of ``results.json``, which has been written; it is empty unless the run has finished. ``error`` is the
    message of a run that has not.
    """
