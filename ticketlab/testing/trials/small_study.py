"""A study that takes seconds: two trainings that start from one, and their evaluations."""

from __future__ import annotations

from typing import Any

import tomlkit

from ticketlab.core import files
from ticketlab.core.settings import component_table
from ticketlab.studies.definition import Study
from ticketlab.studies.read_definition import study_of
from ticketlab.testing.trials.stage_recipe import QUICK
from ticketlab.testing.trials.workspace import LENGTH, Workspace

STAGES = 5
"""The number of its distinct stages."""


def small_study(workspace: Workspace) -> Study:
    """Return the study, whose recipe is a file in the workspace."""
    train = {"kind": "train", **QUICK["train"]}
    stages = {"finetune": train, "retrain": {**train, "start": "finetune"}, "evaluate": {"kind": "evaluate", "model": "retrain"}}
    head = {"model": str(workspace.model()), "max_length": LENGTH, "precision": "fp32", "tasks": [component_table(workspace.task())]}
    file = workspace.root / "study-recipe.toml"
    files.write_text(file, tomlkit.dumps({**head, **stages}))
    return study_of("tested", {"recipes": [str(file)], "vary": {"retrain.lr": [1e-3, 2e-3]}})


def without_cost(value: Any) -> Any:
    """Return results without what their computation cost, which differs between runs."""
    if isinstance(value, dict):
        return {key: without_cost(item) for key, item in value.items() if key != "cost"}
    return [without_cost(item) for item in value] if isinstance(value, list) else value
