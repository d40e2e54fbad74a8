"""Recipes: graphs of stages with their settings, built from resolved tables, checked, and written back with every setting."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import attrs
from attrs import evolve, field, frozen

from ticketlab.core import registry
from ticketlab.core.errors import SettingError, UsageError, did_you_mean
from ticketlab.core.files import expand
from ticketlab.core.references import split_checkpoint as split_checkpoint
from ticketlab.core.references import stage_of
from ticketlab.core.settings import from_table, to_table
from ticketlab.recipes import stage_tasks
from ticketlab.recipes.head import DESCRIPTIVE, HEAD, RecipeHead
from ticketlab.recipes.source_lines import source_line
from ticketlab.recipes.tables import Table, difference, in_stages, merge_stages, overlays

if TYPE_CHECKING:
    from ticketlab.stages.base import Stage
    from ticketlab.tasks.base import Task

SAME_FOR_ALL_TASKS = ("seeds", "scale", "model", "precision")
"""Keys of the head that must have the same value for all tasks of a run."""
STAGE_NAME = re.compile(r"[\w-]+")
"""Stage names are part of the paths of settings and of file names."""


@frozen(kw_only=True)
class Recipe(RecipeHead):
    """A resolved recipe: its head and its stages, which run in order. Each stage names the earlier ones that it needs."""

    name: str
    """The name of the recipe, or that of its file."""
    stages: Mapping[str, Stage]
    """The stages by name."""
    source: str = field(default="", eq=False)
    """Where the recipe comes from: a file, a package, or empty."""
    per_task: Mapping[str, Recipe] = field(factory=dict)
    """The recipe of each task that has its own settings, by the name of the task; everything else is for the other tasks."""
    without_overrides: Recipe | None = field(default=None, eq=False, repr=False)
    """The recipe of this name without overrides, at this scale and on these tasks, if known: labels list the differences from it."""

    def of(self, task: Task) -> Recipe:
        """Return the recipe for one of its tasks."""
        if not self.per_task and self.tasks == (task,):
            return self
        return evolve(self.per_task.get(task.name, self), tasks=(task,), per_task={})

    @property
    def challenge_sets(self) -> tuple[Task, ...]:
        """The challenge sets in :attr:`ood`, and for each task with an injected shortcut one that has its markers at chance.

        :raises SettingError: another challenge set or task has the name of such a set.
        """
        from ticketlab.tasks.assembly.shortcut import has_injected_shortcut
        from ticketlab.tasks.datasets.shortcut_challenge import ShortcutChallenge

        found: list[Task] = list(self.ood)
        for task in filter(has_injected_shortcut, self.tasks):
            challenge_set = ShortcutChallenge(task=evolve(task, train_rows=self.train_rows) if task.train_rows is None else task)
            if any(challenge_set.label == other.label for other in (*found, *self.tasks)):
                raise SettingError(f"ood: `{challenge_set.label}` is the challenge set of a shortcut; rename the other data set")
            found.append(challenge_set)
        return tuple(found)

    def parts(self) -> list[Recipe]:
        """Return a recipe for each group of tasks that share all settings, in the order of the groups' first tasks."""
        if not self.per_task:
            return [self]
        groups: dict[str, list[Task]] = {}
        for task in self.tasks:
            groups.setdefault(task.name if task.name in self.per_task else "", []).append(task)
        return [evolve(self.of(tasks[0]), tasks=tuple(tasks)) for tasks in groups.values()]

    def until(self, name: str) -> Recipe:
        """Return the recipe with only the stage ``name`` and the stages that it is computed from.

        :raises UsageError: there is no such stage.
        """
        if name not in self.stages:
            raise UsageError(f"the recipe `{self.name}` has no stage `{name}`{did_you_mean(name, self.stages)}")
        needed = {name}
        for other, stage in reversed(list(self.stages.items())):
            if other in needed:
                needed |= {stage_of(value) for value in stage.references().values()}
        stages = {other: stage for other, stage in self.stages.items() if other in needed}
        return evolve(self, stages=stages, per_task={task: part.until(name) for task, part in self.per_task.items()})

    def to_table(self) -> Table:
        """Return the recipe as plain values, with every setting; :func:`build_recipe` accepts the table."""
        head = to_table(self, cls=RecipeHead)
        if self.paper_seeds is None:
            del head["paper_seeds"]
        table = {**head, **{name: {"kind": stage.label, **to_table(stage)} for name, stage in self.stages.items()}}
        per_task = {name: difference(table, evolve(part, tasks=self.tasks).to_table()) for name, part in self.per_task.items()}
        return table | ({"per_task": per_task} if per_task else {})

    def to_toml(self) -> str:
        """Return the recipe as TOML, with every setting."""
        import tomlkit

        return tomlkit.dumps(self.to_table())

    def digest(self) -> str:
        """Return the sha256 of everything in the recipe that can change a result. Equal recipes have the same digest."""
        stages = {name: {"kind": stage.label, **stage.identity()} for name, stage in self.stages.items()}
        table = {key: value for key, value in self.to_table().items() if key not in DESCRIPTIVE} | stages
        table |= {"per_task": {name: part.digest() for name, part in self.per_task.items()}} if self.per_task else {}
        return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def build_recipe(name: str, table: Table, *, source: str = "", task: str | None = None) -> Recipe:
    """Build and check a recipe from a resolved table.

    ``source`` is the TOML file that the table comes from, and ``task`` the task whose own settings in the file have been applied.

    :raises SettingError: an unknown key, a wrong value, or a reference to a stage that does not exist or comes later; the message has the
        file and the line.
    """
    shared = {key: value for key, value in table.items() if key != "per_task"}
    try:
        per_task = {task: merge_stages(shared, overlay) for task, overlay in overlays(table, "per_task").items()}
        return combine(_build(name, shared, source), {task: _build(name, whole, source) for task, whole in per_task.items()})
    except SettingError as problem:
        where = source_line(table, source, str(problem).partition(":")[0], task) if source else ""
        raise SettingError(f"{problem}{where}") from None


def combine(recipe: Recipe, others: Mapping[str, Recipe]) -> Recipe:
    """Return ``recipe`` with ``others``, the recipes of tasks with their own settings, by name of the task.

    :raises SettingError: one has a different model, precision or seeds, lacks a stage, or has a challenge set of the same name with
    different settings. These cannot differ within a run.
    """
    if not others:
        return recipe
    sets: dict[str, Task] = {}
    for task, other in others.items():
        for key in SAME_FOR_ALL_TASKS:
            if getattr(other, key) != getattr(recipe, key):
                raise SettingError(f"{key}: `{task}` has its own, {getattr(other, key)!r}; run the tasks one at a time")
        for challenge_set in (*recipe.ood, *other.ood):
            if sets.setdefault(challenge_set.label, challenge_set) != challenge_set:
                raise SettingError(
                    f"ood: `{challenge_set.label}` has other settings for `{task}` than for other tasks; run the tasks one at a time"
                )
        missing = [name for name, stage in recipe.stages.items() if not stage.works_as("bias") and name not in other.stages]
        if missing:
            raise SettingError(f"{missing[0]}: `{task}` has no such stage and other tasks do; run the tasks one at a time")
    with_all_tasks = {task: evolve(other, tasks=recipe.tasks) for task, other in others.items()}
    return evolve(recipe, per_task={task: other for task, other in with_all_tasks.items() if other != recipe})


def _build(name: str, table: Table, source: str) -> Recipe:
    stages = {key: value for key, value in table.items() if isinstance(value, Mapping) and key not in HEAD}
    for key in table:
        if key not in stages and key not in HEAD and (hint := in_stages(table, [key])):
            raise SettingError(f"{key}: is a setting of stages, not of a recipe{hint}")
    head = from_table(RecipeHead, {key: value for key, value in table.items() if key not in stages}, title="a recipe")
    if not stages:
        raise SettingError("a recipe needs at least one stage, a table with a `kind`")
    return Recipe(name=name, stages=dict(_build_stages(stages)), source=source, **attrs.asdict(head, recurse=False))


def _build_stages(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Stage]]:
    earlier: dict[str, Stage] = {}
    for name, table in tables.items():
        if not STAGE_NAME.fullmatch(name):
            raise SettingError(f"{name}: a stage name may contain letters, digits, `-` and `_` only")
        kind = table.get("kind")
        if kind is None:
            raise SettingError(f"{name}: a stage needs a `kind`: {', '.join(registry.current().names('stage'))}")
        cls = stage_class(str(kind), name)
        settings = {key: value for key, value in table.items() if key != "kind"}
        if stage_tasks.FIELD in settings and stage_tasks.FIELD in attrs.fields_dict(cls):
            settings[stage_tasks.FIELD] = stage_tasks.find_stage_task(settings[stage_tasks.FIELD], f"{name}.{stage_tasks.FIELD}")
        stage = from_table(cls, settings, path=name)
        references = stage.references()
        _check_references(name, stage, references, earlier)
        _check_with_referenced_stages(name, stage, references, earlier)
        earlier[name] = stage
        yield name, stage


def stage_class(kind: str, where: str = "kind") -> type[Stage]:
    """Return the class of a stage kind.

    :raises SettingError: there is no such kind.
    """
    try:
        return cast("type[Stage]", registry.current().get("stage", kind))
    except SettingError as problem:
        raise SettingError(f"{where}.kind: {problem}") from None


def extends(kind: Any, *kinds: str) -> bool:
    """Return whether a stage kind is one of ``kinds``, or its class extends that of one, with its settings. An unknown kind does not."""
    known = registry.current()
    if kind in kinds or not known.knows("stage", str(kind)) or known.entry("stage", str(kind)).source.is_built_in:
        return kind in kinds
    return issubclass(stage_class(str(kind)), tuple(map(stage_class, kinds)))


def is_external(value: str) -> bool:
    """Return whether a reference is a path (or a hub name with an owner) rather than a stage."""
    return "/" in value or "\\" in value or expand(value).exists()


def _check_references(name: str, stage: Stage, references: Mapping[str, str], earlier: Mapping[str, Stage]) -> None:
    for key, value in references.items():
        declared = attrs.fields_dict(type(stage))[key].metadata
        accepts = declared["reference"]
        stage_name, checkpoint = split_checkpoint(value)
        referenced = earlier.get(stage_name)
        if checkpoint and referenced is not None and not extends(referenced.name, *declared["checkpoints_of"]):
            other = "; a search saves its scores at a step, for draws" if referenced.name == "search" else ""
            raise SettingError(f"{name}.{key}: `{stage_name}` is a {referenced.name} stage; only a train stage saves checkpoints{other}")
        if referenced is None and not is_external(value) and not (value == "demo" and "train" in accepts):
            names = [other for other, candidate in earlier.items() if candidate.works_as(*accepts)]
            raise SettingError(f"{name}.{key}: there is no earlier stage `{value}`{did_you_mean(value, names)}; a path contains a `/`")
        if referenced is not None and not referenced.works_as(*accepts):
            article = "an" if accepts[0][0] in "aeiou" else "a"
            raise SettingError(f"{name}.{key}: `{value}` is a {referenced.name} stage; this needs {article} {' or '.join(accepts)} stage")


def _check_with_referenced_stages(name: str, stage: Stage, references: Mapping[str, str], earlier: Mapping[str, Stage]) -> None:
    names = {key: stage_of(value) for key, value in references.items()}
    try:
        stage.check({key: earlier[value] for key, value in names.items() if value in earlier})
    except SettingError as problem:
        raise SettingError(f"{name}.{problem}") from None
