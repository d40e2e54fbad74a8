"""Whether the setting that a key names is a whole number, a number, or something else."""

from __future__ import annotations

import enum
from typing import Any, get_args

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.setting_values import settings_of
from ticketlab.recipes.head import RecipeHead
from ticketlab.recipes.overrides import FLAGS
from ticketlab.recipes.recipe import Recipe
from ticketlab.studies.keys import RENAMED, check_key


class SettingType(enum.Enum):
    """The type of a setting."""

    WHOLE = "whole number"
    NUMBER = "number"
    OTHER = "other"


def find_setting_type(recipe: Recipe, key: str) -> SettingType:
    """Return the type of the setting that a key names: a path as in ``--set``, or a flag of ``run`` without its dashes.

    :raises UsageError: the recipe has no such setting.
    """
    check_key(key)
    name, owners = _owners(recipe, key)
    names = [field.name for owner in owners for field in settings_of(owner)]
    found = {_type_of(field.type) for owner in owners for field in settings_of(owner) if field.name == name}
    if not found:
        raise UsageError(f"--over {key}: the recipe `{recipe.name}` has no such setting{did_you_mean(name, names)}")
    return found.pop() if len(found) == 1 else SettingType.OTHER


def _owners(recipe: Recipe, key: str) -> tuple[str, list[Any]]:
    """Return the name of the setting that a key sets, and the classes that may have it."""
    stages = [stage for part in recipe.parts() for stage in part.stages.items()]
    if "." in key:
        first, *path = key.split(".")
        below = [_at(stage, path[:-1]) for name, stage in stages if name == first]
        return path[-1], [type(owner) for owner in below if owner is not None]
    name = RENAMED.get(key, key.replace("-", "_"))
    if name in FLAGS:
        target = FLAGS[name]
        return target.setting, [type(stage) for _, stage in stages if stage.name in target.kinds]
    return name, [RecipeHead, *(type(stage) for _, stage in stages)]


def _at(owner: Any, path: list[str]) -> Any:
    """Return the stage or component at a path below a stage; None if there is none."""
    for part in path:
        if isinstance(owner, tuple):
            owner = next((item for item in owner if part in (getattr(item, "label", None), getattr(item, "name", None))), None)
        else:
            owner = getattr(owner, part, None)
    return owner if hasattr(type(owner), "__attrs_attrs__") else None


def _type_of(annotation: Any) -> SettingType:
    members = set(get_args(annotation) or (annotation,)) - {type(None)}
    if members == {int}:
        return SettingType.WHOLE
    return SettingType.NUMBER if float in members else SettingType.OTHER
