"""Recipes: a graph of stages with their settings, read from TOML, overridden, checked, and written back fully resolved."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attrs import field, frozen

from ticketlab import registry
from ticketlab.errors import SettingError, UsageError, did_you_mean
from ticketlab.options import build_component, from_table, to_table

if TYPE_CHECKING:
    from ticketlab.stages.base import Stage
    from ticketlab.tasks.base import Task

Table = dict[str, Any]

HEAD = ("summary", "paper", "scale", "model", "max_length", "precision", "seeds", "train_rows", "tasks")
"""Top-level keys that are not stages."""
OVERLAYS = ("scales", "per_task")
"""Tables of overrides: ``[scales.small.search]``, ``[per_task.imdb.search]``. They are gone once a recipe is resolved."""
KINDS = {
    "train": "train:Train",
    "search": "search:SearchStage",
    "draw": "draw:Draw",
    "evaluate": "evaluate:Evaluate",
    "attack": "attack:AttackStage",
    "export": "export:Export",
}
PRECISIONS = ("auto", "fp32", "bf16")
STAGE_NAME = re.compile(r"[\w-]+")
"""Names of stages stand in paths of settings and in names of files."""


@frozen
class Recipe:
    """A resolved recipe. Stages run in order; each names the earlier ones that it needs."""

    name: str
    stages: Mapping[str, Stage]
    tasks: Sequence[Task]
    model: str = "bert-base-uncased"
    max_length: int = 128
    precision: str = "auto"
    seeds: Sequence[int] = (0,)
    train_rows: int | None = None
    """At most this many training examples of each task that does not say itself."""
    scale: str = "full"
    summary: str = ""
    paper: str = ""
    source: str = field(default="", eq=False)

    def to_table(self) -> Table:
        """Return the recipe as plain values, every setting written out; :func:`from_table_of_stages` takes it back."""
        head: Table = {"summary": self.summary, "paper": self.paper, "scale": self.scale, "model": self.model}
        head |= {"max_length": self.max_length, "precision": self.precision, "seeds": list(self.seeds)}
        head["train_rows"] = "none" if self.train_rows is None else self.train_rows
        tasks = [{"name": task.name, **to_table(task)} for task in self.tasks]
        return {**head, "tasks": tasks, **{name: {"kind": stage.name, **to_table(stage)} for name, stage in self.stages.items()}}

    def to_toml(self) -> str:
        """Return the recipe as TOML, every setting written out."""
        import tomlkit

        return tomlkit.dumps(self.to_table())

    def digest(self) -> str:
        """Return the sha256 of everything in the recipe but words about it and settings that change no result; it names run directories."""
        stages = {name: {"kind": stage.name, **to_table(stage, identity_only=True)} for name, stage in self.stages.items()}
        table = {key: value for key, value in self.to_table().items() if key not in ("summary", "paper")} | stages
        return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def read(name: str | Path) -> tuple[str, Table, str]:
    """Return the name, the raw table and the path of a recipe: a registered name, or a TOML file.

    A recipe with ``extends = "NAME"`` is that recipe with its own tables laid over it; NAME is a registered name or a path beside it.

    :raises UsageError: no such recipe or file, not TOML, or a recipe that extends itself.
    """
    return _read(name, ())


def _read(name: str | Path, extending: tuple[Path, ...]) -> tuple[str, Table, str]:
    known = registry.current().recipes
    if str(name) in known:
        path = registry.current().recipe(str(name))
    else:
        path = Path(name)
        if not path.suffix and len(path.parts) == 1:
            raise UsageError(
                f"there is no recipe `{name}`{did_you_mean(str(name), known)} (`ticketlab recipes` lists them; a file ends in .toml)"
            )
        if not path.is_file():
            raise UsageError(f"{path}: there is no such file")
    try:
        table = tomllib.loads(_text(path))
    except (ValueError, RecursionError) as problem:  # tomllib lets through what int() says of thousands of digits
        raise UsageError(f"{path}: not TOML: {problem}") from None
    if path in extending:
        raise UsageError(f"{path}: the recipe extends itself")
    below = table.pop("extends", None)
    if below is not None:
        table = merge(_below(below, path, (*extending, path)), table)
    if not any(isinstance(value, dict) and key not in OVERLAYS for key, value in table.items()):
        raise UsageError(f"{path}: an empty recipe; it needs at least one stage, a table with a `kind`")
    return path.stem, table, str(path)


def _below(name: Any, path: Path, extending: tuple[Path, ...]) -> Table:
    """Return the table that the recipe at ``path`` extends."""
    if not isinstance(name, str):
        raise SettingError(f"extends: must name a recipe, not {name!r} ({path})")
    beside = path.parent / name
    try:
        return _read(beside if name not in registry.current().recipes and beside.suffix else name, extending)[1]
    except UsageError as problem:
        raise UsageError(f"{problem} (extended by {path})") from None


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig")


def merge(base: Mapping[str, Any], other: Mapping[str, Any]) -> Table:
    """Return ``base`` with ``other`` laid over it. A table that names another component replaces the one it covers."""
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


def override(table: Table, assignment: str) -> Table:
    """Return ``table`` with ``path=value`` applied. The value is TOML (``3``, ``true``, ``"x"``, ``[1, 2]``), or else a plain string.

    :raises UsageError: no ``=``, or the path crosses something that is not a table.
    """
    path, equals, text = assignment.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise UsageError(f"--set {assignment}: write path=value, such as search.pruner.lr=0.05")
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except (ValueError, RecursionError):
        value = text.strip()
    stages = [name for name in table if name not in HEAD + OVERLAYS]
    if keys[0] not in (*HEAD, *stages):
        raise SettingError(f"--set {assignment}: the recipe has no stage or setting `{keys[0]}`{did_you_mean(keys[0], [*HEAD, *stages])}")
    if keys == ["scale"]:
        raise UsageError(f"--set {assignment}: a scale changes many settings at once; choose it with --scale")
    changed: Table = _put(table, keys, value, f"--set {assignment}")
    return changed


def _put(below: Any, keys: Sequence[str], value: Any, where: str) -> Any:
    """Return ``below`` with ``value`` at the end of ``keys``; a component in a list is found by its name."""
    if not keys:
        same = isinstance(below, Mapping) and below.get("name") == value
        return below if same else value
    key, rest = keys[0], keys[1:]
    if isinstance(below, list):
        items = [{"name": item} if isinstance(item, str) else item for item in below]
        names = [item.get("name") for item in items if isinstance(item, Mapping)]
        if key not in names:
            raise UsageError(f"{where}: the list has no `{key}`{did_you_mean(key, [str(name) for name in names])}")
        return [_put(item, rest, value, where) if item.get("name") == key else item for item in items]
    if isinstance(below, str):
        below = {"name": below}
    if not isinstance(below, (Mapping, type(None))):
        raise UsageError(f"{where}: `{key}` is inside something that is not a table")
    below = dict(below or {})
    if key == "name" and not rest and below.get("name") != value:
        return {"name": value}  # the settings of another component are not its own
    return {**below, key: _put(below.get(key), rest, value, where)}


def resolve(table: Table, *, scale: str | None = None, task: str | None = None) -> Table:
    """Apply a recipe's own overlays: the one of its task, then the one of its scale.

    :raises UsageError: the recipe has no such scale, or an overlay that is not a table.
    """
    plain = {key: value for key, value in table.items() if key not in OVERLAYS}
    if task is not None:
        plain = merge(plain, overlays(table, "per_task").get(task, {}))
    wanted = scale or plain.get("scale", "full")
    if wanted != "full":
        scales = overlays(table, "scales")
        if wanted not in scales and plain.get("scale") != wanted:
            raise UsageError(f"the recipe has no scale `{wanted}`{did_you_mean(wanted, ['full', *scales])}")
        plain = merge(plain, scales.get(wanted, {}))
    plain["scale"] = wanted
    return plain


def overlays(table: Table, kind: str) -> Mapping[str, Table]:
    """Return the overlays of a kind in :data:`OVERLAYS` by name: of a scale, or of a task.

    :raises SettingError: one is not a table.
    """
    found = table.get(kind, {})
    if not isinstance(found, Mapping) or not all(isinstance(overlay, Mapping) for overlay in found.values()):
        raise SettingError(f"{kind}: must hold tables of stages, such as [{kind}.NAME.search]")
    return found


def from_table_of_stages(name: str, table: Table, *, source: str = "") -> Recipe:
    """Build and check a recipe from a resolved table.

    :raises SettingError: an unknown key, a wrong value, a reference to a stage that is not there or comes later; with file and line.
    """
    try:
        return _build(name, table, source)
    except SettingError as problem:
        where = _line(table, source, str(problem).partition(":")[0]) if source else ""
        raise SettingError(f"{problem}{where}") from None


def _build(name: str, table: Table, source: str) -> Recipe:
    head: Table = {}
    kinds: dict[str, tuple[type, str]] = {
        **dict.fromkeys(("summary", "paper", "scale", "model", "precision"), (str, "a text")),
        "max_length": (int, "a whole number"),
    }
    for key, (kind, words) in kinds.items():
        if key in table:
            if not isinstance(table[key], kind) or isinstance(table[key], bool):
                raise SettingError(f"{key}: must be {words}, not {table[key]!r}")
            head[key] = table[key]
    if head.get("precision", "auto") not in PRECISIONS:
        raise SettingError(f"precision: must be one of {', '.join(PRECISIONS)}, not {head['precision']!r}")
    rows = table.get("train_rows", "none")
    if rows != "none" and (type(rows) is not int or rows < 1):
        raise SettingError(f"train_rows: must be a whole number from 1, or none, not {rows!r}")
    head["train_rows"] = None if rows == "none" else rows
    if head.get("max_length", 128) < 4:
        raise SettingError(f"max_length: must be at least 4, not {head['max_length']}")
    seeds = table.get("seeds", [0])
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise SettingError(f"seeds: must be a list of whole numbers from 0, not {seeds!r}")
    if len(set(seeds)) < len(seeds):
        raise SettingError(f"seeds: a seed is named twice in {seeds}")
    tasks = _tasks(table.get("tasks", []))
    stages = dict(_stages({key: value for key, value in table.items() if key not in HEAD}))
    if not stages:
        raise SettingError("a recipe needs at least one stage, a table with a `kind`")
    return Recipe(name=name, stages=stages, tasks=tasks, seeds=tuple(seeds), source=source, **head)


def _tasks(values: Any) -> tuple[Task, ...]:
    if not isinstance(values, list):
        raise SettingError(f"tasks: must be a list, not {values!r}")
    tasks = cast("tuple[Task, ...]", tuple(build_component("task", value, f"tasks[{index}]") for index, value in enumerate(values)))
    labels = [task.label for task in tasks]
    for index, label in enumerate(labels):
        if label in labels[:index]:
            raise SettingError(f"tasks[{index}]: there is a task `{label}` already, and results go by this name; rename the file or folder")
    return tasks


def _stages(tables: Mapping[str, Any]) -> Iterator[tuple[str, Stage]]:
    earlier: dict[str, Stage] = {}
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise SettingError(f"{name}: a recipe has no such setting{did_you_mean(name, HEAD)}")
        if not STAGE_NAME.fullmatch(name):
            raise SettingError(f"{name}: the name of a stage has letters, digits, `-` and `_` only")
        kind = table.get("kind")
        if kind is None:
            raise SettingError(f"{name}: a stage needs a `kind`: {', '.join(KINDS)}")
        stage = from_table(stage_class(str(kind), name), {key: value for key, value in table.items() if key != "kind"}, path=name)
        _check_references(name, stage, earlier)
        _check_together(name, stage, earlier)
        earlier[name] = stage
        yield name, stage


def stage_class(kind: str, where: str = "kind") -> type[Stage]:
    """Return the class of a stage kind.

    :raises SettingError: there is no such kind.
    """
    import importlib

    if kind not in KINDS:
        raise SettingError(f"{where}.kind: there is no stage kind `{kind}`{did_you_mean(kind, KINDS)}")
    module, _, attribute = KINDS[kind].partition(":")
    cls: type[Stage] = getattr(importlib.import_module(f"ticketlab.stages.{module}"), attribute)
    return cls


def is_outside(value: str) -> bool:
    """Say whether a reference means a path (or a hub name with an owner) rather than a stage."""
    return "/" in value or "\\" in value or Path(value).exists()


def _check_references(name: str, stage: Stage, earlier: Mapping[str, Stage]) -> None:
    import attrs

    for key, value in stage.references().items():
        accepts = attrs.fields_dict(type(stage))[key].metadata["reference"]
        found = earlier.get(value)
        if found is None and not is_outside(value) and not (value == "demo" and "train" in accepts):
            names = [other for other, candidate in earlier.items() if candidate.name in accepts]
            raise SettingError(f"{name}.{key}: there is no earlier stage `{value}`{did_you_mean(value, names)}; a path contains a `/`")
        if found is not None and found.name not in accepts:
            raise SettingError(f"{name}.{key}: `{value}` is a {found.name} stage; this needs a {' or '.join(accepts)} stage")


def _check_together(name: str, stage: Stage, earlier: Mapping[str, Stage]) -> None:
    try:
        stage.check({key: earlier[value] for key, value in stage.references().items() if value in earlier})
    except SettingError as problem:
        raise SettingError(f"{name}.{problem}") from None


def _line(table: Table, source: str, path: str) -> str:
    """Say where the TOML file of a resolved recipe has the setting at ``path``, or as much of the path as it has."""
    file = Path(source)
    try:
        text = _text(file)
        whole = tomllib.loads(text)
    except (OSError, ValueError):
        return ""
    keys = re.findall(r"[^.\[\]]+", path)
    tasks = table.get("tasks")
    names = [task.get("name") if isinstance(task, Mapping) else task for task in tasks] if isinstance(tasks, list) else []
    overlaid = [["scales", table.get("scale"), *keys], *(["per_task", name, *keys] for name in names)]
    keys = next((found for found in overlaid if _depth(whole, found) == len(found)), keys)
    depth = _depth(whole, keys)
    last = next((key for key in reversed(keys[:depth]) if not key.isdigit()), None)
    if last is None and keys and keys[0] in HEAD:
        return ""  # it was laid over the file
    lines = text.split("\n")
    start = 1  # of the statement that ends on the line
    for number in range(1, len(lines) + 1 if last else 0):
        with contextlib.suppress(ValueError):  # the lines so far end inside a statement
            if _depth(tomllib.loads("\n".join(lines[:number])), keys) == depth:
                exact = next((line for line in range(start, number + 1) if str(last) in lines[line - 1]), start)
                return f" ({file.name} line {exact})"
            start = number + 1
    return f" ({file.name})"


def _depth(value: Any, keys: Sequence[Any]) -> int:
    """Return how many of the keys, one inside the other, there are."""
    for depth, key in enumerate(keys):
        if isinstance(value, list) and str(key).isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, Mapping) and key in value:
            value = value[key]
        else:
            return depth
    return len(keys)
