"""Finds the line of a recipe's TOML file that a setting comes from, for messages."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.recipes.head import HEAD
from ticketlab.recipes.tables import Table, text_of


def source_line(table: Table, source: str, path: str, task: str | None) -> str:
    """Return `` (FILE line N)`` for the setting at ``path`` of a resolved recipe, or for the innermost part of the path that the file has.

    ``source`` is the TOML file, and ``task`` the task whose settings have been applied. The result is `` (FILE)`` where no line can be
    named, and empty where the file cannot be read or the setting does not come from it.
    """
    file = Path(source)
    try:
        text = text_of(file)
        whole = tomllib.loads(text)
    except (OSError, ValueError):
        return ""
    keys = re.findall(r"[^.\[\]]+", path)
    overlaid = [["scales", table.get("scale"), *keys], *(["per_task", name, *keys] for name in _task_names(table, task))]
    keys = next((overlay for overlay in overlaid if _depth(whole, overlay) == len(overlay)), keys)
    depth = _depth(whole, keys)
    last = next((key for key in reversed(keys[:depth]) if not key.isdigit()), None)
    if last is None and keys and keys[0] in HEAD:
        return ""  # an override set it
    lines = text.split("\n")
    start = 1  # first line of the current statement
    for number in range(1, len(lines) + 1 if last else 0):
        with contextlib.suppress(ValueError):  # the text up to this line ends inside a statement
            if _depth(tomllib.loads("\n".join(lines[:number])), keys) == depth:
                exact = next((line for line in range(start, number + 1) if str(last) in lines[line - 1]), start)
                return f" ({file.name} line {exact})"
            start = number + 1
    return f" ({file.name})"


def _task_names(table: Table, task: str | None) -> list[Any]:
    if task is not None:
        return [task]
    tasks = table.get("tasks")
    return [item.get("name") if isinstance(item, Mapping) else item for item in tasks] if isinstance(tasks, list) else []


def _depth(value: Any, keys: Sequence[Any]) -> int:
    """Return the number of leading keys that exist, each inside the one before."""
    for depth, key in enumerate(keys):
        if isinstance(value, list) and str(key).isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, Mapping) and key in value:
            value = value[key]
        else:
            return depth
    return len(keys)
