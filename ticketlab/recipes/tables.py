"""Recipes as plain tables: reading TOML, merging, and overriding. :mod:`ticketlab.recipes.recipe` checks their content."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core import files, registry
from ticketlab.core.errors import SettingError, UsageError, did_you_mean
from ticketlab.core.plugin_loading import RECIPE
from ticketlab.core.setting_values import settings_of
from ticketlab.recipes.head import HEAD

Table = dict[str, Any]

OVERLAYS = ("scales", "per_task")
"""Tables of overrides, such as ``[scales.small.search]`` and ``[per_task.imdb.search]``. Resolving a recipe applies them."""


def read(name: str | Path) -> tuple[str, Table, str]:
    """Return the name, the raw table and the path of a recipe: a registered name, or a TOML file.

    A recipe with ``extends = "NAME"`` is that recipe with this one's tables merged over it.
    NAME is a registered name or a path relative to the file.

    :raises UsageError: there is no such recipe or file, it is not TOML, or it extends itself.
    """
    return _read(name, ())


def _read(name: str | Path, extending: tuple[Path, ...]) -> tuple[str, Table, str]:
    known = registry.current()
    if known.knows(RECIPE, str(name)):
        path = known.recipe(str(name))
    else:
        path = files.expand(name)
        if not path.suffix and len(path.parts) == 1:
            raise UsageError(
                f"unknown recipe `{name}`{did_you_mean(str(name), known.recipes)} (`ticketlab recipes` lists them; a file ends in .toml)"
            )
        if not path.is_file():
            raise UsageError(f"{path}: there is no such file")
    try:
        table = tomllib.loads(text_of(path))
    except (ValueError, RecursionError) as problem:  # int() raises ValueError for thousands of digits
        raise UsageError(f"{path}: not TOML: {problem}") from None
    if path in extending:
        raise UsageError(f"{path}: the recipe extends itself")
    base = table.pop("extends", None)
    if base is not None:
        table = merge_stages(_read_base(base, path, (*extending, path)), table)
    if not any(isinstance(value, dict) and key not in OVERLAYS for key, value in table.items()):
        raise UsageError(f"{path}: an empty recipe; it needs at least one stage, a table with a `kind`")
    return path.stem, table, str(path)


def _read_base(name: Any, path: Path, extending: tuple[Path, ...]) -> Table:
    """Return the table that the recipe at ``path`` extends."""
    if not isinstance(name, str):
        raise SettingError(f"extends: must name a recipe, not {name!r} ({path})")
    relative = path.parent / name
    try:
        return _read(relative if not registry.current().knows(RECIPE, name) and relative.suffix else name, extending)[1]
    except UsageError as problem:
        raise UsageError(f"{problem} (extended by {path})") from None


def text_of(path: Path) -> str:
    """Return the text of a TOML file without its byte order mark."""
    return path.read_bytes().decode("utf-8-sig")


def merge(base: Mapping[str, Any], other: Mapping[str, Any]) -> Table:
    """Return ``base`` with the values of ``other``, recursively. A table that names another component replaces the whole table."""
    merged = dict(base)
    for key, value in other.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, str):
            below = {"name": below}
        if isinstance(value, Mapping) and isinstance(below, Mapping) and value.get("name", below.get("name")) == below.get("name"):
            merged[key] = merge(below, value)
        elif isinstance(value, str) and isinstance(below, Mapping) and below.get("name") == value:
            continue
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def merge_stages(base: Table, other: Table) -> Table:
    """Return ``merge(base, other)`` with each new stage placed before the first stage that names it."""
    merged = merge(base, other)
    added = {name for name, value in merged.items() if name not in (*HEAD, *OVERLAYS, *base) and isinstance(value, Mapping)}
    ordered: Table = {}

    def place(name: str, above: tuple[str, ...] = ()) -> None:
        values = merged[name].values() if isinstance(merged[name], Mapping) and name not in (*HEAD, *OVERLAYS) else ()
        for value in values:
            stage = value.partition("@")[0] if isinstance(value, str) else ""
            if stage in added and stage not in (*ordered, *above, name):
                place(stage, (*above, name))
        ordered[name] = merged[name]

    for name in merged:
        if name not in ordered:
            place(name)
    return ordered


def difference(base: Mapping[str, Any], other: Mapping[str, Any]) -> Table:
    """Return the table that :func:`merge` must add to ``base`` to get ``other``. It cannot remove keys that ``other`` lacks."""
    found: Table = {}
    for key, value in other.items():
        below = base.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping) and value.get("name") == below.get("name"):
            inner = difference(below, value)
            if inner:
                found[key] = {"name": value["name"], **inner} if "name" in value else inner
        elif key not in base or value != below:
            found[key] = copy.deepcopy(value)
    return found


def override(table: Table, assignment: str) -> Table:
    """Return ``table`` with ``path=value`` applied. The value is TOML (``3``, ``true``, ``"x"``, ``[1, 2]``) or else a plain string.

    :raises UsageError: there is no ``=``, or part of the path is not a table.
    """
    keys, value = parse_assignment(assignment)
    stages = [name for name in table if name not in HEAD + OVERLAYS]
    if keys[0] not in (*HEAD, *stages):
        hint = in_stages(table, keys) or did_you_mean(keys[0], [*HEAD, *stages])
        raise SettingError(f"--set {assignment}: the recipe has no stage or setting `{keys[0]}`{hint}")
    if keys == ["scale"]:
        raise UsageError(f"--set {assignment}: a scale changes many settings at once; choose it with --scale")
    changed: Table = _put(table, keys, value, f"--set {assignment}")
    return changed


def in_stages(table: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return a hint that names the stages with the setting ``keys[0]``, for a path that lacks its stage; empty if none has it."""
    if f"{keys[0]}s" in HEAD:
        return ""  # `task` more probably means `tasks`
    known = registry.current()
    kinds = {name: stage.get("kind") for name, stage in table.items() if isinstance(stage, Mapping) and name not in HEAD}
    paths = []
    for name, kind in kinds.items():
        fields = settings_of(known.get("stage", kind)) if isinstance(kind, str) and known.knows("stage", kind) else ()
        if any(keys[0] == field.name and (len(keys) == 1 or "component" in field.metadata) for field in fields):
            paths.append(f"`{'.'.join([name, *keys])}`")
    return f"; did you mean {' or '.join(paths)}?" if paths else ""


def parse_assignment(assignment: str) -> tuple[list[str], Any]:
    """Return the keys and the value of ``path=value``.

    :raises UsageError: there is no ``=``, or a key is empty.
    """
    path, equals, text = assignment.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise UsageError(f"--set {assignment}: write path=value, such as search.pruner.lr=0.05")
    try:
        return keys, tomllib.loads(f"value = {text.strip()}")["value"]
    except (ValueError, RecursionError):
        return keys, text.strip()


def as_toml(value: Any) -> str:
    """Return a value as TOML on one line, from which :func:`parse_assignment` reads it again."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_toml(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON would write an emoji as two surrogates


def _put(below: Any, keys: Sequence[str], value: Any, where: str) -> Any:
    """Return ``below`` with ``value`` at the path ``keys``. A component in a list is addressed by its name.

    A single key that is not the name of a component in the list sets this setting on all of them: ``tasks.train_rows``.
    """
    if not keys:
        same = isinstance(below, Mapping) and below.get("name") == value
        return below if same else value
    key, rest = keys[0], keys[1:]
    if isinstance(below, list):
        items = [{"name": item} if isinstance(item, str) else item for item in below]
        names = [item.get("name") for item in items if isinstance(item, Mapping)]
        for length in range(len(keys), 1, -1):  # a name may have dots
            if (joined := ".".join(keys[:length])) in names:
                key, rest = joined, keys[length:]
                break
        if key not in names and not rest and items and all(isinstance(item, Mapping) for item in below):
            return [_put(item, keys, value, where) for item in items]
        if key not in names:
            raise UsageError(f"{where}: the list has no `{key}`{did_you_mean(key, [str(name) for name in names])}")
        return [_put(item, rest, value, where) if item.get("name") == key else item for item in items]
    if isinstance(below, str):
        below = {"name": below}
    if not isinstance(below, (Mapping, type(None))):
        raise UsageError(f"{where}: `{key}` is inside something that is not a table")
    below = dict(below or {})
    if key == "name" and not rest and below.get("name") != value:
        return {"name": value}  # the settings belong to the old component
    return {**below, key: _put(below.get(key), rest, value, where)}


def resolve(table: Table, *, scale: str | None = None, task: str | None = None) -> Table:
    """Apply a recipe's own overlays: first that of the task, then that of the scale.

    :raises UsageError: the recipe has no such scale, or an overlay that is not a table.
    """
    plain = {key: value for key, value in table.items() if key not in OVERLAYS}
    if task is not None:
        own = overlays(table, "per_task").get(task, {})
        if "tasks" in own:
            raise SettingError(f"per_task.{task}.tasks: the settings of a task cannot name other tasks; name the tasks at the top level")
        plain = merge_stages(plain, own)
    wanted = scale or plain.get("scale", "full")
    if wanted != "full":
        scales = overlays(table, "scales")
        if wanted not in scales and plain.get("scale") != wanted:
            raise UsageError(f"the recipe has no scale `{wanted}`{did_you_mean(wanted, ['full', *scales])}")
        plain = merge(plain, scales.get(wanted, {}))
    plain["scale"] = wanted
    return plain


def overlays(table: Table, kind: str) -> Mapping[str, Table]:
    """Return the overlays of a kind in :data:`OVERLAYS`, by the name of the scale or task.

    :raises SettingError: an overlay is not a table.
    """
    found = table.get(kind, {})
    if not isinstance(found, Mapping) or not all(isinstance(overlay, Mapping) for overlay in found.values()):
        raise SettingError(f"{kind}: must contain tables of stages, such as [{kind}.NAME.search]")
    return found
