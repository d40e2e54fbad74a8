"""Composes a recipe from its name or file, the tasks, and overrides, as ``ticketlab run`` does; for use from Python."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, cast

from attrs import evolve, frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.recipes import contradictions, ineffective_settings, required_stages, stage_tasks
from ticketlab.recipes import recipe as recipes
from ticketlab.recipes import tables as recipe_tables
from ticketlab.recipes.overrides import FLAGS, Overrides, apply_overrides, as_list, find_tasks, task_tables
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.tables import Table
from ticketlab.tasks.base import Task

DEFAULT = "ticket"
ARGUMENTS = ("tasks", "scale", "seeds", "sets")


def compose(
    recipe: str | Path | None = None,
    *,
    tasks: Task | str | Path | Sequence[Task | str | Path] = (),
    scale: str | None = None,
    seeds: int | Sequence[int] | None = None,
    sets: str | Iterable[str] = (),
    **overrides: Unpack[Overrides],
) -> Recipe:
    """Return the recipe of this name or file with the tasks, seeds and overrides applied.

    The recipe's own settings for the task and the scale come first, then ``overrides``, then ``sets`` (``"search.pruner.lr=0.05"``).
    Tasks may have their own settings (:attr:`~ticketlab.recipes.recipe.Recipe.per_task`); a setting applies to every task whose recipe
    has it. The default recipe is ``ticket``: fine-tune, search, draw, retrain, evaluate, attack. A task is a name, a path, or a
    :class:`~ticketlab.tasks.base.Task` (``ticketlab.LocalDataset(path=..., text_columns=("review",), label_column="stars")``);
    ``seeds=3`` is 0, 1 and 2.

    :raises UsageError: no such recipe, scale, override or stage; an unknown setting, or a value outside its bounds; no task; an override
        has no effect, alone or beside ``sets``.
    """
    for key in overrides:
        if key not in Overrides.__annotations__:
            raise UsageError(f"compose has no argument `{key}`{did_you_mean(key, [*Overrides.__annotations__, *ARGUMENTS])}")
    if not (seeds is None or isinstance(seeds, (int, Sequence))):
        raise UsageError(f"seeds: must be a number or a list of numbers, not {seeds!r}")
    for stage, settings in overrides.get("stages", {}).items():
        if not isinstance(settings, Mapping):
            raise UsageError(f"stages: `{stage}` needs a mapping such as {{'adversary': 'freelb'}}, not {settings!r}")
    sets = as_list(sets)
    base = read_base(recipe, find_tasks(tasks), scale)
    composed = apply_to(base, seeds=seeds, sets=sets, overrides=overrides)
    parts = [composed.of(task) for task in composed.tasks]
    ineffective_settings.refuse_ineffective(parts, FLAGS, overrides, sets)

    def build(kept: Mapping[str, Any], sets: Sequence[str]) -> Recipe:
        return apply_to(base, seeds=seeds, sets=sets, overrides=cast("Overrides", kept))

    contradictions.refuse_contradictions(build, overrides, sets)
    return composed


def compose_unchecked(
    recipe: str | Path | None = None,
    *,
    tasks: Task | str | Path | Sequence[Task | str | Path] = (),
    scale: str | None = None,
    seeds: int | Sequence[int] | None = None,
    sets: str | Iterable[str] = (),
    **overrides: Unpack[Overrides],
) -> Recipe:
    """Like :func:`compose`, but accept settings that have no effect, as in a cell of a study whose other cells they affect."""
    return apply_to(read_base(recipe, find_tasks(tasks), scale), seeds=seeds, sets=as_list(sets), overrides=overrides)


@frozen
class Base:
    """A recipe before overrides, resolved for its tasks and scale: the table of each task with its own settings, None for all others.

    ``without_overrides`` has the recipes that labels are compared with.
    """

    name: str
    source: str
    tables: Mapping[str | None, Table]
    without_overrides: Mapping[str | None, Recipe]


def read_base(recipe: str | Path | None, chosen: Sequence[Task], scale: str | None) -> Base:
    """Read a recipe for the ``chosen`` tasks, by default its own. Raises the errors of :func:`compose`."""
    name, raw, source = recipe_tables.read(recipe or DEFAULT)
    if chosen:
        raw = raw | {"tasks": task_tables(chosen)}
    tables: dict[str | None, Table] = {}
    without_overrides: dict[str | None, Recipe] = {}
    for task in _tasks_with_own_settings(raw):
        table = recipe_tables.resolve(raw, scale=scale, task=task)
        own = recipes.build_recipe(name, table, source=source, task=task)  # reports errors in the file with their lines
        without_overrides[task] = _without_overrides(own, chosen=bool(chosen))
        tables[task] = own.to_table()
        if not tables[task]["tasks"]:
            raise UsageError("no task given: use --task with a name (`ticketlab show task` lists them) or a path")
    return Base(name, source, tables, without_overrides)


def apply_to(base: Base, *, seeds: int | Sequence[int] | None, sets: Sequence[str], overrides: Overrides) -> Recipe:
    """Return the recipe of a base with seeds, overrides and settings applied. Raises the errors of :func:`compose`."""
    name, tables = base.name, dict(base.tables)
    for task, table in base.tables.items():
        head: Table = {key: value for key, value in overrides.items() if key in ("model", "max_length", "precision")}
        if seeds is not None:
            head["seeds"] = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
        tables[task] = required_stages.add_required_stages(apply_overrides(table | head, name, overrides), overrides.get("bias"))
    for assignment in sets:
        tables = _override(tables, assignment)
    tables = {task: stage_tasks.find_stage_tasks(table) for task, table in tables.items()}
    built = {
        task: evolve(
            recipes.build_recipe(name, required_stages.remove_unneeded_stages(required_stages.add_required_stages(table))),
            source=base.source,
            without_overrides=base.without_overrides[task],
        )
        for task, table in tables.items()
    }
    others = built.get(None, next(iter(built.values())))
    return recipes.combine(others, {task: recipe for task, recipe in built.items() if task is not None})


def _without_overrides(own: Recipe, *, chosen: bool) -> Recipe:
    """Return the recipe without overrides. It uses all training examples of tasks that were ``chosen``, without shortcuts."""
    from ticketlab.tasks.assembly.shortcut import without_injected_shortcut

    tasks = tuple(evolve(without_injected_shortcut(task), train_rows=None, train_share=None) for task in own.tasks) if chosen else own.tasks
    plain = evolve(own, tasks=tasks)
    with contextlib.suppress(UsageError):  # without the overrides the recipe may be incomplete
        return recipes.build_recipe(own.name, required_stages.remove_unneeded_stages(required_stages.add_required_stages(plain.to_table())))
    return plain


def _tasks_with_own_settings(raw: Table) -> list[str | None]:
    """Return the tasks to resolve the recipe for: each name that it has settings for, and None for all other tasks together.

    They are in the order of the tasks. Local files have the name `local`.
    """
    tasks = raw.get("tasks") or []
    names = [task.get("name") if isinstance(task, Mapping) else task for task in tasks] if isinstance(tasks, list) else []
    own = recipe_tables.overlays(raw, "per_task")
    return list(dict.fromkeys(name if isinstance(name, str) and name in own else None for name in names)) or [None]


def _override(tables: Mapping[str | None, Table], assignment: str) -> dict[str | None, Table]:
    """Apply ``path=value`` to the table of every task that has the path, such as the challenge set of one task.

    :raises UsageError: no task has it.
    """
    changed, problems = dict(tables), []
    for task, table in tables.items():
        try:
            changed[task] = recipe_tables.override(table, assignment)
        except UsageError as problem:
            problems.append(problem)
    if len(problems) == len(tables):
        raise problems[0]
    return changed
