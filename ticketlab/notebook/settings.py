"""The settings of a run, by path, from the recipe in its directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from ticketlab.core.errors import UsageError
from ticketlab.lab.layout import RECIPE
from ticketlab.recipes import tables
from ticketlab.recipes.head import DESCRIPTIVE


def settings_of_run(run: Path) -> dict[str, Any]:
    """Return every setting that can change a result, by path: ``search.pruner.penalty``, ``attack.attacks.pwws.wordnet``.

    :raises UsageError: the run has no recipe, or it cannot be read.
    """
    if not (run / RECIPE).is_file():
        raise UsageError(f"{run}: has no {RECIPE}: it is not a run, or stopped before it began")
    _, table, _ = tables.read(run / RECIPE)
    return {path: value for path, value in _flat(table, "") if path.partition(".")[0] not in DESCRIPTIVE}


def differing_settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ between two runs, by path; None for a setting that a run does not have.

    A stage or component that only one of them has is listed as a whole, by its kind or name.
    """
    found: dict[str, tuple[Any, Any]] = {}
    whole: list[str] = []
    for path in dict.fromkeys((*one, *other)):
        pair = one.get(path), other.get(path)
        if pair[0] == pair[1] or pair in (([], None), (None, [])) or any(path.startswith(prefix) for prefix in whole):
            continue
        owner, _, last = path.rpartition(".")
        if last in ("kind", "name") and None in pair and owner:
            whole.append(f"{owner}.")
        found[path] = pair
    return found


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in sorted(value.items(), key=lambda item: item[0] not in ("kind", "name")):
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        for item in value:
            name = PurePath(str(item.get("path") or item.get("name", ""))).name
            yield from _flat(item, f"{path}.{name}")
    else:
        yield path, value
