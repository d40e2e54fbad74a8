"""What a recipe has otherwise than the one that its name alone stands for. It is part of the label of every number of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ticketlab.core.component import Component
from ticketlab.core.errors import TicketlabError
from ticketlab.core.settings import settings_of
from ticketlab.recipes.recipe import Recipe

HEAD = ("max_length", "precision", "train_rows", "ood_map")
"""What counts at the top of a recipe. Tables, csv files and results name model, tasks, challenge sets, scale and seeds themselves."""
NAMED_ELSEWHERE = {
    "evaluate": ("model", "split"),
    "attack": ("model", "split", "examples", "sample_seed"),
    "export": ("model",),
    "tasks": ("positive_label",),
    "ood": ("positive_label",),
}
"""Settings of a stage, by its kind, and of data sets, that stand beside the numbers."""
FOLLOWS = ("bias", "teacher")
"""References that a loss brings with it (:mod:`ticketlab.recipes.requirements`)."""
Settings = dict[tuple[str, ...], Any]
"""Settings by path. Components stand for their labels."""


def differences(recipe: Recipe, plain: Recipe | None) -> Settings:
    """Return the settings of ``recipe`` that ``plain`` has otherwise; of a new stage or component those that are not its defaults.

    Left out is what changes no number (:attr:`ticketlab.core.settings.setting` with ``identity=False``), what stands beside the numbers
    anyway, and which attacks there are. Without ``plain`` nothing differs.
    """
    if plain is None:
        return {}
    found: Settings = {(key,): getattr(recipe, key) for key in HEAD if getattr(recipe, key) != getattr(plain, key)}
    for stage_name, stage in recipe.stages.items():
        old = plain.stages.get(stage_name)
        for path, value in _differing(stage, old if type(old) is type(stage) else None):
            follows = path[0] in FOLLOWS and value in recipe.stages and getattr(old, path[0], None) is None
            if not follows and path[0] not in NAMED_ELSEWHERE.get(stage.name, ()):
                found[stage_name, *path] = value
    for key in ("tasks", "ood"):
        known = {task.label: task for task in getattr(plain, key)}
        for task in getattr(recipe, key):
            if task.label in known:
                differing = {path: value for path, value in _differing(task, known[task.label]) if path[0] not in NAMED_ELSEWHERE[key]}
                found |= {(key, task.name, *path): value for path, value in differing.items()}
    return found


def brief(recipe: Recipe, differing: Mapping[tuple[str, ...], Any]) -> str:
    """Return the settings as ``pruner=magnitude, sparsity=0.5``, each under the end of its path that means it alone.

    Settings of one name and value are one where no other setting of the recipe has that name: ``search.sparsity`` and ``draw.sparsity``.
    """
    every = set(_paths(recipe)) | set(differing)
    words: dict[str, None] = {}
    for path, value in differing.items():
        ends = (path[-length:] for length in range(1, len(path)))
        alone = (end for end in ends if all(differing.get(other, ...) == value for other in every if other[-len(end) :] == end))
        words[f"{'.'.join(next(alone, path))}={_brief(value)}"] = None
    return ", ".join(words)


def label(recipe: Recipe) -> str:
    """Return what numbers of a recipe are called: its name, and in parentheses what it has otherwise."""
    return labelled(recipe.name, brief(recipe, differences(recipe, recipe.without_overrides)))


def labelled(name: str, overrides: str) -> str:
    """Return a name with the :func:`brief` words for what was overridden."""
    return f"{name} ({overrides})" if overrides else name


def _differing(component: Component, plain: Component | None) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the value of what differs from ``plain``, by default from a component of the same class as it comes."""
    plain = plain or _default(component)
    for field in settings_of(type(component)):
        value, other = getattr(component, field.name), getattr(plain, field.name, None)
        changes_speed = not field.metadata.get("identity", True) and not isinstance(value, str)
        if changes_speed or field.name == component.variant:
            continue
        if isinstance(value, Component):
            same = isinstance(other, Component) and other.label == value.label
            if not same:
                yield (field.name,), value.label
            yield from _below(field.name, value, other if same else None)
        elif field.metadata.get("many"):
            known = {one.label: one for one in other or ()}
            for one in value:
                for path, found in _differing(one, known.get(one.label)):
                    yield (field.name, one.label, *path), found
        elif value != other:
            yield (field.name,), value


def _below(name: str, value: Component, plain: Component | None) -> Iterator[tuple[tuple[str, ...], Any]]:
    for path, found in _differing(value, plain):
        yield (name, *path), found


def _default(component: Component) -> Component | None:
    """Return a component of the same class as it comes; None where it does not come without settings, and all of them count."""
    try:
        return type(component)()
    except (TicketlabError, TypeError):
        return None


def _paths(recipe: Recipe) -> Iterator[tuple[str, ...]]:
    """Yield the path of every setting of a recipe."""
    yield from ((key,) for key in HEAD)
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
            yield from ((field.name, one.label, *path) for one in value for path in _paths_in(one))


def _brief(value: Any) -> str:
    """Return a value as short as it goes; of a path only the last part."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "+".join(map(_brief, value)) or "none"
    text = str(value)
    return Path(text).name or text if "/" in text else text
