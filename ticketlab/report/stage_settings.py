"""The settings of the stages of a cell, from the resolved recipe of its run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from ticketlab.lab.layout import RECIPE
from ticketlab.report.cells import Cell

PER_TASK = "per_task"


def stage_settings(cell: Cell, task: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of each stage for a task, by the name of the stage.

    :raises OSError: the run has no ``recipe.toml``.
    :raises ValueError: it is damaged.
    """
    table = tomllib.loads((cell.folder / RECIPE).read_text(encoding="utf-8"))
    of_task = table.pop(PER_TASK, {}).get(task, {})
    tables = {name: value for name, value in table.items() if isinstance(value, dict)}
    return {name: {**tables.get(name, {}), **of_task.get(name, {})} for name in tables | of_task}
