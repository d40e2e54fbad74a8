"""The recipe that exports a finished model in several formats, and measures, evaluates and attacks each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from ticketlab.attacks.results.record_file import file_name
from ticketlab.backbone.adapters import SHRUNK
from ticketlab.core import files
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.settings import build_component
from ticketlab.recipes import recipe, tables
from ticketlab.recipes.measured_model import ChosenData, MeasuredModel
from ticketlab.recipes.overrides import task_tables
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.single_stage import max_length_of, scale_of
from ticketlab.recipes.tables import Table

NAME = "benchmark"
FORMATS = ("dense", "shrunk", "onnx", "onnx-int8")


def format_benchmark(
    model: MeasuredModel,
    data: ChosenData,
    *,
    formats: Sequence[str] = (),
    ticket: str | Path | None = None,
    attacks: Sequence[Mapping[str, Any]] = (),
    measured: Mapping[str, Any] | None = None,
    attacked: Mapping[str, Any] | None = None,
    metrics: Sequence[str] = (),
    sets: Sequence[str] = (),
    max_length: int | None = None,
) -> Recipe:
    """Return the recipe. Its stages are ``FORMAT`` (export), ``FORMAT-measure``, ``FORMAT-evaluate`` and ``FORMAT-attack-NAME``.

    Without ``formats`` they are dense, shrunk if the model was shrunk or a ``ticket`` is given, onnx and onnx-int8. ``measured`` and
    ``attacked`` are settings of the measure and attack stages, and ``attacks`` the tables of the attacks. In ``sets``, a path may begin
    with the kind of a stage in place of its name, as in ``attack.workers=1``: it then sets all stages of that kind.

    :raises UsageError: there is no task, an unknown format, or an invalid setting.
    """
    if not data.tasks:
        raise UsageError("no task given: use --task with a name (`ticketlab show task` lists them) or a path")
    for name in formats:
        if name not in FORMATS:
            raise UsageError(f"--format {name}: no such format{did_you_mean(name, FORMATS)}")
    chosen = list(dict.fromkeys(formats)) or [name for name in FORMATS if name != "shrunk" or ticket is not None or _is_shrunk(model)]
    table: Table = {
        "model": model.location,
        "precision": "fp32",
        "seeds": [0],
        "tasks": task_tables(data.tasks),
        "scale": scale_of(model.name),
    }
    table |= {"ood": task_tables(data.ood), "ood_map": list(data.ood_map)}
    length = max_length or max_length_of(model.name, data.tasks[0].name)
    table |= {} if length is None else {"max_length": length}
    for name in chosen:
        table[name] = {"kind": "export", "model": model.location, "format": name, **({} if ticket is None else {"ticket": str(ticket)})}
        table[f"{name}-measure"] = {"kind": "measure", "model": name, **(measured or {})}
        table[f"{name}-evaluate"] = {"kind": "evaluate", "model": name, "metrics": list(metrics)}
        for attack in attacks:
            label = build_component("attack", attack, "--attack").label
            table[f"{name}-attack-{file_name(label)}"] = {"kind": "attack", "model": name, "attacks": [attack], **(attacked or {})}
    plain = recipe.build_recipe(NAME, table)
    for assignment in sets:
        for single in _for_each_stage(table, assignment):
            table = tables.override(table, single)
    return evolve(recipe.build_recipe(NAME, table), without_overrides=plain)


def _for_each_stage(table: Table, assignment: str) -> list[str]:
    """Return an assignment to a kind of stage as one for each stage of the kind; a setting of an attack for those that have the attack."""
    (kind, *path), _ = tables.parse_assignment(assignment)
    stages = [name for name, stage in table.items() if isinstance(stage, Mapping) and stage.get("kind") == kind]
    if kind in table or not stages:
        return [assignment]
    if kind == "attack" and path[:1] == ["attacks"] and len(path) > 2:
        stages = [name for name in stages if table[name]["attacks"][0].get("name") == path[1]] or stages
    return [assignment.strip().replace(kind, name, 1) for name in stages]


def _is_shrunk(model: MeasuredModel) -> bool:
    config = files.expand(model.location) / "config.json"
    return config.is_file() and str(files.read_json(config).get("model_type", "")).startswith(SHRUNK)
