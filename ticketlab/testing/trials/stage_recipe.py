"""The recipe of a stage under test: the stage, and the earlier ones that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ticketlab.core.references import stage_of
from ticketlab.core.settings import to_table
from ticketlab.recipes.recipe import Recipe, build_recipe, stage_class
from ticketlab.recipes.required_stages import add_required_stages
from ticketlab.stages.base import Stage
from ticketlab.testing.trials.workspace import LENGTH, Workspace

QUICK: Mapping[str, Mapping[str, Any]] = {
    "train": {"epochs": 1, "lr": 1e-3, "batch_size": 8},
    "search": {"pruner": "magnitude", "epochs": 1, "batch_size": 8},
    "draw": {"sparsity": 0.3},
    "bias": {"folds": 2},
    "attack": {"examples": 2},
    "measure": {"repeats": 1, "batch_sizes": [1]},
}
"""Settings of earlier stages with which they take a second, by kind."""
STAGE = "tested"


def recipe_of(stage: Stage, workspace: Workspace, earlier: Mapping[str, Mapping[str, Any]], *, pairs: bool, seeds: list[int]) -> Recipe:
    """Return a recipe with a stage named :data:`STAGE`, the ``earlier`` stages, and one for each further stage that it refers to.

    A reference to the name of an unknown stage gets a stage of the first kind that the reference accepts.
    """
    table: dict[str, Any] = {name: dict(settings) for name, settings in earlier.items()}
    _add_referenced(stage, table)
    table[STAGE] = {"kind": stage.label, **to_table(stage)}
    table = add_required_stages(table)
    head = {"model": str(workspace.model()), "max_length": LENGTH, "precision": "fp32", "seeds": seeds}
    pairs = pairs or any(part["kind"] == "bias" for part in table.values())
    return build_recipe("conformance", {**table, **head, "tasks": [workspace.task(pairs=pairs)]})


def _add_referenced(stage: Stage, table: dict[str, Any]) -> None:
    fields = attrs.fields_dict(type(stage))
    for setting, value in stage.references().items():
        name = stage_of(value)
        if name in table or "/" in value:
            continue
        kind = fields[setting].metadata["reference"][0]
        cls = stage_class(kind)
        _add_referenced(cls(**{key: tuple(item) if isinstance(item, list) else item for key, item in QUICK.get(kind, {}).items()}), table)
        table[name] = {"kind": kind, **QUICK.get(kind, {})}
