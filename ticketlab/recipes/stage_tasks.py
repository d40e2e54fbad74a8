"""Tasks that stages name themselves: what may be written in a recipe, and with ``--set`` and ``--STAGE-task``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.core.errors import SettingError
from ticketlab.core.settings import component_table
from ticketlab.recipes.head import HEAD
from ticketlab.recipes.tables import Table

FIELD = "task"
"""The setting of a stage that names its task."""


def find_stage_task(value: Any, where: str) -> Any:
    """Return a stage's task as a table with the name of a task; ``where`` is its path in messages.

    It may be written as a component, as a name or path as for ``--task``, or as a table whose ``name`` is one. None is ``none``.

    :raises SettingError: there is no such task, or settings are given for none.
    """
    from ticketlab.tasks.datasets.lookup import find_task

    if isinstance(value, Component):
        return component_table(value)
    if value is None or value == "none":
        return "none"
    name = value.get("name") if isinstance(value, Mapping) else value
    if not isinstance(name, str) or (isinstance(value, Mapping) and registry.current().knows("task", name)):
        return value  # complete, or refused where the component is built
    settings = {key: item for key, item in value.items() if key != "name"} if isinstance(value, Mapping) else {}
    if name == "none":
        raise SettingError(f"{where}: the stage uses the task of the run; name another one before its settings ({where}=NAME)")
    try:
        found = find_task(name)
    except SettingError as problem:
        raise SettingError(f"{where}: {problem}") from None
    return {**component_table(found), **settings}


def find_stage_tasks(table: Table) -> Table:
    """Return the table of a recipe with every stage's task as :func:`find_stage_task` returns it."""
    return {
        name: {**value, FIELD: find_stage_task(value[FIELD], f"{name}.{FIELD}")}
        if name not in HEAD and isinstance(value, Mapping) and FIELD in value
        else value
        for name, value in table.items()
    }
