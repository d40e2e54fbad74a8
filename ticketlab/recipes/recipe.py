"""Recipes: a graph of stages with their settings, built from resolved tables, checked, and written back fully resolved."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attrs import evolve, field, frozen

from ticketlab.core.errors import SettingError, did_you_mean
from ticketlab.core.files import expand
from ticketlab.core.settings import build_component, check_number, from_table, to_table
from ticketlab.recipes.tables import HEAD, Table, difference, merge_stages, overlays, text_of

if TYPE_CHECKING:
    from ticketlab.stages.base import Stage
    from ticketlab.tasks.base import Task

KINDS = {
    "train": "train:Train",
    "bias": "bias:BiasStage",
    "search": "search:SearchStage",
    "draw": "draw:Draw",
    "evaluate": "evaluate:Evaluate",
    "attack": "attack:AttackStage",
    "export": "export:Export",
}
PRECISIONS = ("auto", "fp32", "bf16")
WORDS = ("summary", "paper", "paper_seeds")
"""Keys that say something about a recipe and change no result."""
SHARED = ("tasks", "seeds", "scale", "model", "precision")
"""Keys that are those of all tasks of a run."""
STAGE_NAME = re.compile(r"[\w-]+")
"""Names of stages stand in paths of settings and in names of files."""


@frozen
class Recipe:
    """A resolved recipe. Stages run in order; each names the earlier ones that it needs.

    Where tasks have settings of their own, ``per_task`` has the recipe as it is for each of them, and the rest holds for the others.
    """

    name: str
    stages: Mapping[str, Stage]
    tasks: Sequence[Task]
    model: str = "bert-base-uncased"
    max_length: int = 128
    precision: str = "auto"
    seeds: Sequence[int] = (0,)
    train_rows: int | None = None
    """At most this many training examples of each task that does not say itself."""
    ood: Sequence[Task] = ()
    """Challenge sets: where models are evaluated out of distribution, and what trainings may mix in."""
    ood_map: Sequence[str] = ()
    """``TASK_LABEL=OOD_LABEL``, where a challenge set calls a label otherwise."""
    scale: str = "full"
    summary: str = ""
    paper: str = ""
    paper_seeds: int | None = None
    """Over how many seeds the published comparison is."""
    source: str = field(default="", eq=False)
    per_task: Mapping[str, Recipe] = field(factory=dict)
    """By the task's name."""

    def of(self, task: Task) -> Recipe:
        """Return the recipe as it is for one of its tasks."""
        return evolve(self.per_task.get(task.name, self), tasks=(task,), per_task={})

    def parts(self) -> list[Recipe]:
        """Return a recipe for each group of tasks that share all settings, in the order of the groups' first tasks."""
        groups: dict[str, list[Task]] = {}
        for task in self.tasks:
            groups.setdefault(task.name if task.name in self.per_task else "", []).append(task)
        return [evolve(self.of(tasks[0]), tasks=tuple(tasks)) for tasks in groups.values()] or [self]

    plain: Recipe | None = field(default=None, eq=False, repr=False)
    """What the name alone stands for, at this scale and on these tasks, where that is known: what differs is part of labels."""

    def to_table(self) -> Table:
        """Return the recipe as plain values, every setting written out; :func:`build_recipe` takes it back."""
        head: Table = {"summary": self.summary, "paper": self.paper}
        head |= {} if self.paper_seeds is None else {"paper_seeds": self.paper_seeds}
        head |= {"scale": self.scale, "model": self.model, "max_length": self.max_length, "precision": self.precision}
        head |= {"seeds": list(self.seeds), "train_rows": "none" if self.train_rows is None else self.train_rows}
        for key, tasks in (("tasks", self.tasks), ("ood", self.ood)):
            head[key] = [{"name": task.name, **to_table(task)} for task in tasks]
        head["ood_map"] = list(self.ood_map)
        table = {**head, **{name: {"kind": stage.name, **to_table(stage)} for name, stage in self.stages.items()}}
        own = {name: difference(table, evolve(part, tasks=self.tasks).to_table()) for name, part in self.per_task.items()}
        return table | ({"per_task": own} if own else {})

    def to_toml(self) -> str:
        """Return the recipe as TOML, every setting written out."""
        import tomlkit

        return tomlkit.dumps(self.to_table())

    def digest(self) -> str:
        """Return the sha256 of everything in the recipe but words about it and settings that change no result; it names run directories."""
        stages = {name: {"kind": stage.name, **stage.identity()} for name, stage in self.stages.items()}
        table = {key: value for key, value in self.to_table().items() if key not in WORDS} | stages
        table |= {"per_task": {name: part.digest() for name, part in self.per_task.items()}} if self.per_task else {}
        return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def build_recipe(name: str, table: Table, *, source: str = "", task: str | None = None) -> Recipe:
    """Build and check a recipe from a resolved table. ``task`` is whose own settings in the file at ``source`` are laid over it.

    :raises SettingError: an unknown key, a wrong value, a reference to a stage that is not there or comes later; with file and line.
    """
    plain = {key: value for key, value in table.items() if key != "per_task"}
    try:
        own = {task: merge_stages(plain, overlay) for task, overlay in overlays(table, "per_task").items()}
        return combine(_build(name, plain, source), {task: _build(name, whole, source) for task, whole in own.items()})
    except SettingError as problem:
        where = _line(table, source, str(problem).partition(":")[0], task) if source else ""
        raise SettingError(f"{problem}{where}") from None


def combine(recipe: Recipe, others: Mapping[str, Recipe]) -> Recipe:
    """Return ``recipe`` with what it is for other tasks, by their names.

    :raises SettingError: one has another model, precision or seeds, lacks a stage, or has a challenge set of the same name and other
        settings: no single run can be both.
    """
    sets: dict[str, Task] = {}
    for task, other in others.items():
        for key in SHARED[1:]:
            if getattr(other, key) != getattr(recipe, key):
                raise SettingError(f"{key}: `{task}` has its own, {getattr(other, key)!r}; run the tasks one at a time")
        for one in (*recipe.ood, *other.ood):
            if sets.setdefault(one.label, one) != one:
                raise SettingError(f"ood: `{one.label}` has other settings for `{task}` than for other tasks; run the tasks one at a time")
        lacking = [name for name, stage in recipe.stages.items() if stage.name != "bias" and name not in other.stages]
        if lacking:
            raise SettingError(f"{lacking[0]}: `{task}` has no such stage and other tasks do; run the tasks one at a time")
    different = {task: evolve(other, tasks=recipe.tasks) for task, other in others.items()}
    return evolve(recipe, per_task={task: other for task, other in different.items() if other != recipe})


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
            check_number(key, table[key])
            head[key] = table[key]
    if head.get("precision", "auto") not in PRECISIONS:
        raise SettingError(f"precision: must be one of {', '.join(PRECISIONS)}, not {head['precision']!r}")
    rows = table.get("train_rows", "none")
    if rows != "none" and (type(rows) is not int or rows < 1):
        raise SettingError(f"train_rows: must be a whole number from 1, or none, not {rows!r}")
    check_number("train_rows", rows)
    head["train_rows"] = None if rows == "none" else rows
    trials = table.get("paper_seeds", "none")
    if trials != "none" and (type(trials) is not int or trials < 1):
        raise SettingError(f"paper_seeds: must be a whole number from 1, or none, not {trials!r}")
    head["paper_seeds"] = None if trials == "none" else trials
    if head.get("max_length", 128) < 4:
        raise SettingError(f"max_length: must be at least 4, not {head['max_length']}")
    seeds = table.get("seeds", [0])
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise SettingError(f"seeds: must be a list of whole numbers from 0, not {seeds!r}")
    if len(set(seeds)) < len(seeds):
        raise SettingError(f"seeds: a seed is named twice in {seeds}")
    tasks, head["ood"] = (_tasks(key, table.get(key, [])) for key in ("tasks", "ood"))
    head["ood_map"] = _pairs(table.get("ood_map", []))
    stages = dict(_stages({key: value for key, value in table.items() if key not in HEAD}))
    if not stages:
        raise SettingError("a recipe needs at least one stage, a table with a `kind`")
    return Recipe(name=name, stages=stages, tasks=tasks, seeds=tuple(seeds), source=source, **head)


def _tasks(key: str, values: Any) -> tuple[Task, ...]:
    if not isinstance(values, list):
        raise SettingError(f"{key}: must be a list, not {values!r}")
    tasks = cast("tuple[Task, ...]", tuple(build_component("task", value, f"{key}[{index}]") for index, value in enumerate(values)))
    labels = [task.label for task in tasks]
    for index, label in enumerate(labels):
        if label in labels[:index]:
            raise SettingError(f"{key}[{index}]: there is a task `{label}` already, and results go by this name; rename the file or folder")
    return tasks


def _pairs(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) and "=" in value for value in values):
        raise SettingError(f"ood_map: must be a list of TASK_LABEL=OOD_LABEL, not {values!r}")
    return tuple(values)


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


def is_external(value: str) -> bool:
    """Say whether a reference means a path (or a hub name with an owner) rather than a stage."""
    return "/" in value or "\\" in value or expand(value).exists()


def split_checkpoint(value: str) -> tuple[str, str]:
    """Split ``finetune@500`` and ``finetune@55%`` into the stage and the checkpoint; of a plain name the checkpoint is empty."""
    match = re.fullmatch(r"([\w-]+)@([0-9]{1,9}|[0-9]{1,3}(?:\.[0-9]{1,9})?%)", value)
    return (match[1], match[2]) if match else (value, "")


def _check_references(name: str, stage: Stage, earlier: Mapping[str, Stage]) -> None:
    import attrs

    for key, value in stage.references().items():
        accepts = attrs.fields_dict(type(stage))[key].metadata["reference"]
        stage_name, at = split_checkpoint(value)
        found = earlier.get(stage_name)
        if at and found is not None and found.name != "train":
            raise SettingError(f"{name}.{key}: `{stage_name}` is a {found.name} stage; only a train stage leaves checkpoints")
        if found is None and not is_external(value) and not (value == "demo" and "train" in accepts):
            names = [other for other, candidate in earlier.items() if candidate.name in accepts]
            raise SettingError(f"{name}.{key}: there is no earlier stage `{value}`{did_you_mean(value, names)}; a path contains a `/`")
        if found is not None and found.name not in accepts:
            article = "an" if accepts[0][0] in "aeiou" else "a"
            raise SettingError(f"{name}.{key}: `{value}` is a {found.name} stage; this needs {article} {' or '.join(accepts)} stage")


def _check_together(name: str, stage: Stage, earlier: Mapping[str, Stage]) -> None:
    named = {key: split_checkpoint(value)[0] for key, value in stage.references().items()}
    try:
        stage.check({key: earlier[value] for key, value in named.items() if value in earlier})
    except SettingError as problem:
        raise SettingError(f"{name}.{problem}") from None


def _line(table: Table, source: str, path: str, task: str | None) -> str:
    """Say where the TOML file of a resolved recipe has the setting at ``path``, or as much of the path as it has."""
    file = Path(source)
    try:
        text = text_of(file)
        whole = tomllib.loads(text)
    except (OSError, ValueError):
        return ""
    keys = re.findall(r"[^.\[\]]+", path)
    tasks = table.get("tasks")
    names = [one.get("name") if isinstance(one, Mapping) else one for one in tasks] if isinstance(tasks, list) else []
    names = names if task is None else [task]
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
