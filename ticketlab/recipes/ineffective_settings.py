"""Settings that cannot have an effect: refused where they are asked for by name, and said where they stand in a recipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import joined
from ticketlab.core.settings import settings_of
from ticketlab.recipes import tables
from ticketlab.recipes.recipe import Recipe, build_recipe

if TYPE_CHECKING:
    from ticketlab.stages.base import Stage, UnusedSetting

Flags = Mapping[str, tuple[str, str, str]]
"""The flag, the kind of stage and its setting, by the name of an override."""
NO_SETS = "watch_ood"
"""The setting that needs a challenge set in the recipe."""


@frozen
class Asked:
    """What one flag, in its own words, asks for: settings of some stages, by path (``pruner.lr``)."""

    flag: str
    stages: Sequence[str]
    paths: Sequence[str]


def without_effect(recipe: Recipe, name: str) -> dict[str, UnusedSetting]:
    """Return the settings of a stage that are not at their defaults and cannot change its result."""
    from ticketlab.stages.base import UnusedSetting

    stage = recipe.stages[name]
    found = stage.ineffective(recipe.stages)
    if not recipe.ood and getattr(stage, NO_SETS, False):
        found.setdefault(NO_SETS, UnusedSetting("the recipe has no challenge sets (--ood)"))
    return {path: idle for path, idle in found.items() if not _is_default(stage, path)}


def remarks(recipe: Recipe, name: str) -> list[str]:
    """Return what is to be said of a stage every time: for each reason the settings that have no effect, and what else is doubtful.

    Numbers of a registered recipe are left out: it has them for the pruner that it was written with, and nobody claimed them for another.
    """
    by_reason: dict[str, list[str]] = {}
    for path, found in without_effect(recipe, name).items():
        if not (found.quiet or (_is_registered(recipe) and _is_number(recipe.stages[name], path))):
            by_reason.setdefault(found.reason, []).append(f"`{path}`")
    idle = [f"{joined(paths)} {'has' if len(paths) == 1 else 'have'} no effect: {reason}" for reason, paths in by_reason.items()]
    return [*idle, *recipe.stages[name].doubts(recipe.stages)]


def refuse(recipes: Sequence[Recipe], flags: Flags, overrides: Mapping[str, Any], sets: Iterable[str]) -> None:
    """Refuse what :func:`ticketlab.compose` was asked for and cannot have an effect on any stage that it reaches.

    ``recipes`` are the recipe as it is for each of its tasks: what has an effect for one of them passes.

    :raises UsageError: with the flag and the reason.
    """
    idle = [{one.flag: _idle(recipe, one) for one in asked(recipe, flags, overrides, sets)} for recipe in recipes]
    for flag, problem in idle[0].items():
        if problem and all(found.get(flag) for found in idle):
            raise UsageError(f"{flag}: {problem}; leave it out")


def _idle(recipe: Recipe, one: Asked) -> str:
    """Return what is wrong with what was asked for if it has no effect on any stage that it reaches; empty if it has."""
    reached = [name for name in one.stages if name in recipe.stages]
    for path in one.paths:
        reasons = [_reason(recipe, name, path) for name in reached]
        if reached and all(reasons):
            which = "" if path == one.paths[0] else f"`{path}` "
            return f"{which}has no effect on the stage `{reached[0]}`: {reasons[0]}"
    return ""


def reaches(recipe: Recipe, assignment: str) -> bool:
    """Say whether ``path=value`` has an effect on a recipe, for a command that runs several.

    :raises SettingError: it cannot be set there.
    """
    made = build_recipe(recipe.name, tables.override(recipe.to_table(), assignment))
    return not any(_idle(made, one) for one in asked(made, {}, {}, [assignment]))


def asked(recipe: Recipe, flags: Flags, overrides: Mapping[str, Any], sets: Iterable[str]) -> list[Asked]:
    """Return what ``overrides`` and ``sets`` of :func:`ticketlab.compose` ask for.

    ``flags`` has the flag, the kind of stage and the setting of those overrides that reach every stage of a kind.
    """
    found = []
    for key, (flag, kind, setting) in flags.items():
        if key in overrides:
            stages = [name for name, stage in recipe.stages.items() if stage.name == kind]
            found.append(Asked(f"{flag} {_short(overrides[key])}", stages, _paths(setting, overrides[key])))
    for stage, settings in overrides.get("stages", {}).items():
        for setting, value in settings.items():
            found.append(Asked(f"--{stage}-{setting.replace('_', '-')} {_short(value)}", [stage], _paths(setting, value)))
    for assignment in sets:
        (stage, *keys), value = tables.assigned(assignment)
        found.append(Asked(f"--set {assignment}", [stage], _paths(".".join(keys), value)))
    return found


def _paths(path: str, value: Any) -> list[str]:
    """Return the path of a setting, and those of what a table for it sets."""
    inside = [_paths(f"{path}.{key}", item) for key, item in value.items() if key != "name"] if isinstance(value, Mapping) else []
    return [path, *(found for paths in inside for found in paths)]


def _short(value: Any) -> str:
    return str(value.get("name", value)) if isinstance(value, Mapping) else str(value)


def _reason(recipe: Recipe, name: str, path: str) -> str:
    """Return why the setting at ``path``, or one that it is part of, has no effect; empty where it has one."""
    return next((idle.reason for found, idle in without_effect(recipe, name).items() if f"{path}.".startswith(f"{found}.")), "")


def _is_registered(recipe: Recipe) -> bool:
    known = registry.current()
    return recipe.name in known.recipes and str(known.recipe(recipe.name)) == recipe.source


def _is_number(stage: Stage, path: str) -> bool:
    value = getattr(stage, path, None)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_default(stage: Stage, path: str) -> bool:
    """Say whether a setting has the value that its component has of itself."""
    owner: Component = stage
    *above, name = path.split(".")
    for key in above:
        owner = getattr(owner, key)
    (field,) = (field for field in settings_of(type(owner)) if field.name == name)
    default: Any = field.default
    return bool(getattr(owner, name) == (default.factory() if hasattr(default, "factory") else default))
