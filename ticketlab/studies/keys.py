"""The keys that a study sets or varies: flags of ``ticketlab run``, paths as in ``--set``, and which of them a recipe has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.setting_values import settings_of
from ticketlab.losses.base import sources_of
from ticketlab.recipes.head import HEAD
from ticketlab.recipes.overrides import FLAGS, Overrides
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.tables import parse_assignment
from ticketlab.stages.search import SearchStage
from ticketlab.studies.definition import KEY_NAMES, RECIPE, TASK

SCALE = "scale"
RENAMED = {flag: argument for argument, flag in KEY_NAMES.items()}
"""Keys whose flag has another name than the argument of :func:`ticketlab.compose`."""
STAGE_FLAGS = ("loss", "adversary", "task")
"""What ``--STAGE-loss``, ``--STAGE-adversary`` and ``--STAGE-task`` set."""
WHOLE = (RECIPE, TASK, SCALE)
"""Keys that choose the recipe, before any setting of it."""
ATTACK_KEYS = ("attacks", "examples", "word_vectors", "encoder", "mlm")


def check_key(key: str, where: str = "") -> None:
    """Check that a key can be set or varied; ``where`` begins the message otherwise.

    :raises UsageError: it is neither a flag of ``run``, nor a path, nor a setting of the head of a recipe.
    """
    name = argument_of(key)
    known = list(dict.fromkeys((*WHOLE, *RENAMED, *Overrides.__annotations__, *HEAD)))
    if key in ("seed", "seeds") or name == "stages":
        raise UsageError(f"{where}`{key}` cannot be varied; --seeds sets the seeds of every cell")
    if name not in known and "." not in key and stage_flag(key) is None:
        flags = {known_name.replace("_", "-") for known_name in known} - {"stages", "seeds"}
        stage, dash, _ = key.rpartition("-")
        flags |= {f"{stage}-{flag}" for flag in STAGE_FLAGS} if dash else set()
        raise UsageError(f"{where}`{key}` is neither a flag of `run` nor a path as in --set{did_you_mean(key, flags)}")


def argument_of(key: str) -> str:
    """Return the name of the argument of :func:`ticketlab.compose` for a key."""
    return RENAMED.get(key, key.replace("-", "_"))


def check_set_or_varied(settings: Iterable[str], varied: Iterable[str]) -> None:
    """Refuse a key that one command sets and varies: the value that it sets would have no effect.

    :raises UsageError: there is one.
    """
    names = {argument_of(key): key for key in varied}
    for key in settings:
        if argument_of(key) in names:
            raise UsageError(f"`{key}` is both set and varied; remove one of the two")


def stage_flag(key: str) -> tuple[str, str] | None:
    """Return the stage and the setting of ``STAGE-loss``, ``STAGE-adversary`` or ``STAGE-task``; None for other keys."""
    stage, dash, setting = key.rpartition("-")
    return (stage, setting) if dash and "." not in key and setting in STAGE_FLAGS else None


def depth_of(key: str) -> int:
    """Return how deep in a recipe a key is. The name of a component is as deep as the component."""
    return key.removesuffix(".name").count(".")


def inner_keys(key: str, value: Any) -> Iterable[str]:
    """Return the keys of a level's value if it is a table, also as text: ``{name = "magnitude", scope = "layer"}``."""
    parsed = parse_assignment(f"{key}={value}")[1] if isinstance(value, str) and value.lstrip().startswith("{") else value
    return parsed.keys() if isinstance(parsed, Mapping) else ()


def has_key(recipe: Recipe, key: str) -> bool:
    """Return whether a recipe has what a key sets."""
    name, kinds = argument_of(key), {stage.name for stage in recipe.stages.values()}
    flag = stage_flag(key)
    if name in FLAGS:
        return bool(kinds.intersection(FLAGS[name].kinds)) and (name not in ("heads", "neurons") or _scores(recipe, name))
    if flag is not None:
        return flag[0] in recipe.stages
    if name in ATTACK_KEYS:
        return bool(kinds & {"attack", "evaluate"})
    if name == "text":
        objectives = [getattr(stage, "objective", None) for stage in recipe.stages.values()]
        return any(objective is not None and objective.name == "mlm" for objective in objectives)
    if name == "like":
        return "draw" in kinds
    if name == "bias":
        return any("bias" in sources_of(getattr(stage, "loss", None)) for stage in recipe.stages.values())
    if name in Overrides.__annotations__:
        return True
    return _has_path(recipe, key.split("."))


def _scores(recipe: Recipe, group: str) -> bool:
    """Return whether a search scores a group of units (pruners that do not know it beforehand count)."""
    pruners = [stage.pruner for stage in recipe.stages.values() if isinstance(stage, SearchStage)]
    return any(not pruner.groups() or group in pruner.groups() for pruner in pruners) or not pruners


def _has_path(recipe: Recipe, path: list[str]) -> bool:
    if path[0] in HEAD:
        return path[0] not in ("tasks", "ood") or bool(getattr(recipe, path[0]))
    below: Any = recipe.stages.get(path[0])
    for part in path[1:]:
        if isinstance(below, tuple):
            below = next((item for item in below if getattr(item, "label", None) == part or getattr(item, "name", None) == part), None)
            continue
        if below is None or part not in {setting.name for setting in settings_of(type(below))}:
            return part == "name" and below is not None
        below = getattr(below, part)
    return path[0] in recipe.stages
