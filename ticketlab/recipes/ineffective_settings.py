"""Settings that cannot have an effect: refused when requested by name, and reported with a warning when they are in a recipe."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import joined
from ticketlab.core.setting_values import settings_of
from ticketlab.core.settings import default_of
from ticketlab.recipes import tables
from ticketlab.recipes.overrides import FlagTarget
from ticketlab.recipes.recipe import Recipe, build_recipe, extends

if TYPE_CHECKING:
    from ticketlab.stages.base import Stage, UnusedSetting

WATCH_OOD = "watch_ood"
"""The setting that has no effect without challenge sets in the recipe."""


@frozen
class Request:
    """A flag, as the user wrote it, and what it sets: settings of some stages, by path (``pruner.lr``)."""

    flag: str
    stages: Sequence[str]
    paths: Sequence[str]


def ineffective_settings(recipe: Recipe, name: str) -> dict[str, UnusedSetting]:
    """Return the settings of a stage that are not at their defaults and cannot change its result."""
    from ticketlab.stages.base import UnusedSetting

    stage = recipe.stages[name]
    unused = stage.ineffective(recipe.stages)
    if not recipe.challenge_sets and getattr(stage, WATCH_OOD, False):
        unused.setdefault(WATCH_OOD, UnusedSetting("the recipe has no challenge sets (--ood)"))
    return {path: setting for path, setting in unused.items() if not _is_default(stage, path)}


def stage_warnings(recipe: Recipe, name: str) -> list[str]:
    """Return the warnings of a stage: the settings that have no effect, grouped by reason, and its other caveats.

    Numeric settings of a registered recipe are omitted: they are for the recipe's own pruner, which an override may have replaced.
    """
    by_reason: dict[str, list[str]] = {}
    for path, setting in ineffective_settings(recipe, name).items():
        if not (setting.harmless or (_is_registered(recipe) and _is_number(recipe.stages[name], path))):
            by_reason.setdefault(setting.reason, []).append(f"`{path}`")
    ineffective = [f"{joined(paths)} {'has' if len(paths) == 1 else 'have'} no effect: {reason}" for reason, paths in by_reason.items()]
    return [*ineffective, *recipe.stages[name].caveats(recipe.stages)]


def refuse_ineffective(
    recipes: Sequence[Recipe], flags: Mapping[str, FlagTarget], overrides: Mapping[str, Any], sets: Iterable[str]
) -> None:
    """Refuse overrides of :func:`ticketlab.compose` that cannot have an effect on any stage that they apply to.

    ``recipes`` are the recipes for each task. An override that has an effect on one of them is accepted.

    :raises UsageError: with the flag and the reason.
    """
    problems = [{request.flag: _problem(recipe, request) for request in requests(recipe, flags, overrides, sets)} for recipe in recipes]
    for flag, problem in problems[0].items():
        if problem and all(of_recipe.get(flag) for of_recipe in problems):
            raise UsageError(f"{flag}: {problem}; remove it")


def _problem(recipe: Recipe, request: Request) -> str:
    """Return why a request has no effect on any stage that it applies to; empty if it has an effect."""
    stages = [name for name in request.stages if name in recipe.stages]
    for path in request.paths:
        reasons = [_reason(recipe, name, path) for name in stages]
        if stages and all(reasons):
            which = "" if path == request.paths[0] else f"`{path}` "
            return f"{which}has no effect on the stage `{stages[0]}`: {reasons[0]}"
    return ""


def has_effect(recipe: Recipe, assignment: str) -> bool:
    """Return whether ``path=value`` has an effect on a recipe, for a command that runs several recipes.

    :raises SettingError: the recipe has no such setting, or the value is invalid.
    """
    changed = build_recipe(recipe.name, tables.override(recipe.to_table(), assignment))
    return not any(_problem(changed, request) for request in requests(changed, {}, {}, [assignment]))


def requests(recipe: Recipe, flags: Mapping[str, FlagTarget], overrides: Mapping[str, Any], sets: Iterable[str]) -> list[Request]:
    """Return what each of the ``overrides`` and ``sets`` of :func:`ticketlab.compose` sets.

    ``flags`` describes the overrides that apply to every stage of some kinds.
    """
    found = []
    for key, (flag, kinds, setting) in flags.items():
        if key in overrides:
            stages = [name for name, stage in recipe.stages.items() if extends(stage.name, *kinds)]
            found.append(Request(f"{flag} {describe_value(overrides[key])}", stages, _paths(setting, overrides[key])))
    for stage, settings in overrides.get("stages", {}).items():
        for setting, value in settings.items():
            found.append(Request(f"--{stage}-{setting.replace('_', '-')} {describe_value(value)}", [stage], _paths(setting, value)))
    for assignment in sets:
        (stage, *keys), value = tables.parse_assignment(assignment)
        found.append(Request(f"--set {assignment}", [stage], _paths(".".join(keys), value)))
    return found


def _paths(path: str, value: Any) -> list[str]:
    """Return the path of a setting and, if its value is a table, the paths of the settings inside."""
    inside = [_paths(f"{path}.{key}", item) for key, item in value.items() if key != "name"] if isinstance(value, Mapping) else []
    return [path, *(found for paths in inside for found in paths)]


def describe_value(value: Any) -> str:
    """Describe the value of an option in a message: that of a component is its name."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(describe_value, value))
    if isinstance(value, Component):
        return value.label
    return str(value.get("name", value)) if isinstance(value, Mapping) else str(value)


def _reason(recipe: Recipe, name: str, path: str) -> str:
    """Return why the setting at ``path``, or a setting that contains it, has no effect; empty if it has an effect."""
    unused = ineffective_settings(recipe, name)
    return next((setting.reason for prefix, setting in unused.items() if f"{path}.".startswith(f"{prefix}.")), "")


def _is_registered(recipe: Recipe) -> bool:
    known = registry.current()
    return recipe.name in known.recipes and str(known.recipe(recipe.name)) == recipe.source


def _is_number(stage: Stage, path: str) -> bool:
    value = _value(stage, path)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_default(stage: Stage, path: str) -> bool:
    """Return whether a setting has its default value."""
    above, _, name = path.rpartition(".")
    owner = _value(stage, above)
    (field,) = (field for field in settings_of(type(owner)) if field.name == name)
    return bool(getattr(owner, name) == default_of(field))


def _value(stage: Stage, path: str) -> Any:
    """Return the setting at ``path``; the stage itself at an empty one."""
    return functools.reduce(getattr, path.split("."), stage) if path else stage
