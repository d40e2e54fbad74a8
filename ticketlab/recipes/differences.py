"""Differences between a recipe and the recipe of the same name without overrides. The label of every number lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ticketlab.core.component import Component
from ticketlab.core.errors import TicketlabError
from ticketlab.core.setting_values import settings_of
from ticketlab.recipes.recipe import Recipe

IN_HEAD = ("max_length", "precision", "train_rows", "ood_map")
"""Keys of the head that are compared. Tables, csv files and results name model, tasks, challenge sets, scale and seeds themselves."""
SHOWN_ELSEWHERE = {
    "tasks": ("positive_label",),
    "ood": ("positive_label",),
}
"""Settings of data sets that are always shown with the numbers or change none."""
ADDED_WITH_LOSS = ("bias", "teacher")
"""References that are set because a loss needs them (:mod:`ticketlab.recipes.required_stages`)."""
Settings = dict[tuple[str, ...], Any]
"""Settings by path. The value of a component is its label."""


def differences(recipe: Recipe, plain: Recipe | None) -> Settings:
    """Return the settings of ``recipe`` that differ from ``plain``. Those of a new stage or component are compared with its defaults.

    Omitted are settings that change no number (:func:`ticketlab.core.settings.setting` with ``identity=False``), settings that are always
    shown with the numbers, and the list of attacks. Without ``plain`` there are no differences.
    """
    if plain is None:
        return {}
    found: Settings = {(key,): getattr(recipe, key) for key in IN_HEAD if getattr(recipe, key) != getattr(plain, key)}
    for stage_name, stage in recipe.stages.items():
        old = plain.stages.get(stage_name)
        for path, value in _differing(stage, old if type(old) is type(stage) else None):
            added_with_loss = path[0] in ADDED_WITH_LOSS and value in recipe.stages and getattr(old, path[0], None) is None
            if not added_with_loss and path[0] not in stage.shown_elsewhere:
                found[stage_name, *path] = value
    for key in ("tasks", "ood"):
        known = {task.label: task for task in getattr(plain, key)}
        for task in getattr(recipe, key):
            if task.label in known:
                differing = {path: value for path, value in _differing(task, known[task.label]) if path[0] not in SHOWN_ELSEWHERE[key]}
                found |= {(key, task.name, *path): value for path, value in differing.items()}
    return found


def describe(recipe: Recipe, differing: Mapping[tuple[str, ...], Any]) -> str:
    """Return the settings of :func:`short_settings` as ``pruner=magnitude, sparsity=0.5``."""
    return ", ".join(f"{name}={value}" for name, value in short_settings(recipe, differing))


def short_settings(recipe: Recipe, differing: Mapping[tuple[str, ...], Any]) -> list[tuple[str, str]]:
    """Return the name and the value of each setting, the name being the shortest unambiguous end of its path.

    Settings with the same name and value, such as ``search.sparsity`` and ``draw.sparsity``, are listed once if no other setting of the
    recipe has that name.
    """
    every = set(_paths(recipe)) | set(differing)
    described: dict[tuple[str, str], None] = {}
    for path, value in differing.items():
        ends = (path[-length:] for length in range(1, len(path)))
        unambiguous = (end for end in ends if all(differing.get(other, ...) == value for other in every if other[-len(end) :] == end))
        described[".".join(next(unambiguous, path)), _format(value)] = None
    return list(described)


def recipe_label(recipe: Recipe) -> str:
    """Return the label of a recipe's numbers: its name, and in parentheses its differences from the recipe of that name."""
    return labelled(recipe.name, describe(recipe, differences(recipe, recipe.without_overrides)))


def labelled(name: str, overrides: str) -> str:
    """Return a name followed by the :func:`describe` text of its overrides in parentheses."""
    return f"{name} ({overrides})" if overrides else name


def _differing(component: Component, plain: Component | None) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and value of each setting that differs from ``plain``, or from the defaults of the class if ``plain`` is None."""
    plain = plain or _default(component)
    for field in settings_of(type(component)):
        value, other = getattr(component, field.name), getattr(plain, field.name, None)
        changes_speed = not field.metadata.get("identity", True) and (component.kind == "task" or not isinstance(value, str))
        if changes_speed or field.name == component.variant:
            continue
        if isinstance(value, Component):
            same = isinstance(other, Component) and other.label == value.label
            if not same:
                yield (field.name,), value.label
            yield from _below(field.name, value, other if same else None)
        elif field.metadata.get("many"):
            known = {item.label: item for item in other or ()}
            for item in value:
                for path, found in _differing(item, known.get(item.label)):
                    yield (field.name, item.label, *path), found
        elif value != other:
            yield (field.name,), value


def _below(name: str, value: Component, plain: Component | None) -> Iterator[tuple[tuple[str, ...], Any]]:
    for path, found in _differing(value, plain):
        yield (name, *path), found


def _default(component: Component) -> Component | None:
    """Return a component of the same class with default settings, or None if some have no default."""
    try:
        return type(component)()
    except (TicketlabError, TypeError):
        return None


def _paths(recipe: Recipe) -> Iterator[tuple[str, ...]]:
    """Yield the path of every setting of a recipe."""
    yield from ((key,) for key in IN_HEAD)
    for name, stage in recipe.stages.items():
        yield from ((name, *path) for path in _paths_in(stage))
    for key in ("tasks", "ood"):
        for task in getattr(recipe, key):
            yield from ((key, task.name, *path) for path in _paths_in(task))


def _paths_in(component: Component) -> Iterator[tuple[str, ...]]:
    for field in settings_of(type(component)):
        yield (field.name,)
        value = getattr(component, field.name)
        if isinstance(value, Component):
            yield from ((field.name, *path) for path in _paths_in(value))
        elif field.metadata.get("many"):
            yield from ((field.name, item.label, *path) for item in value for path in _paths_in(item))


def _format(value: Any) -> str:
    """Return a value in its shortest form: for a path, only the last part."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "+".join(map(_format, value)) or "none"
    text = str(value)
    return Path(text).name or text if "/" in text else text
