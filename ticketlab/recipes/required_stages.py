"""Requirements of losses: adds the bias models and teachers that a recipe's stages need, so that ``--loss poe`` works with any recipe."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import Any

from ticketlab.core import registry
from ticketlab.core.component import with_components
from ticketlab.core.errors import SettingError, UsageError, did_you_mean
from ticketlab.core.settings import build_component
from ticketlab.recipes import tables
from ticketlab.recipes.head import HEAD
from ticketlab.recipes.recipe import extends, is_external
from ticketlab.recipes.stage_tasks import FIELD
from ticketlab.recipes.tables import Table

BIAS, TEACHER = "bias", "teacher"
"""Names of the stages that are added."""
PLAIN = {"objective": "task", "loss": "cross-entropy"}
TEACHER_SETTINGS = ("objective", "adversary", "epochs", "batch_size", "lr", "weight_decay", "warmup", "clip", "eval_steps", "max_length")


def add_required_stages(table: Table, bias: str | None = None) -> Table:
    """Return the table of a resolved recipe with the bias models and teachers that its losses need.

    ``bias`` is a bias model or a file of probabilities for all of them. A stage that names no bias model gets the stage `bias`, which is
    added if necessary. A stage that names no teacher gets the first earlier training stage with plain cross-entropy, or an added one with
    the stage's own settings.

    :raises UsageError: there is no such bias model, or no loss needs one.
    """
    needs = {name: _needs(stage) for name, stage in table.items() if _trains(name, stage)}
    if bias is not None:
        alone = not needs and any(isinstance(stage, Mapping) and stage.get("kind") == "bias" for stage in table.values())
        if not alone and not any("bias" in needed for needed in needs.values()):
            raise UsageError(
                f"--bias {bias}: no loss of this recipe needs a bias model (`poe`, `reweight` and `confreg` do; --loss, --search-loss)"
            )
        table = _choose_bias(table, bias, [name for name, needed in needs.items() if "bias" in needed])
    for name, needed in needs.items():
        if "bias" in needed and table[name].get("bias", "none") == "none":
            table = _put_first(table, BIAS, {"kind": "bias", **_task_of(table[name])}) if BIAS not in table else table
            table = tables.merge(table, {name: {"bias": BIAS}})
        if "teacher" in needed and table[name].get("teacher", "none") == "none":
            table = _give_teacher(table, name)
    return table


def remove_unneeded_stages(table: Table) -> Table:
    """Return the table without the bias stages that no loss needs. A recipe without training stages keeps all of them."""
    needs = {name: _needs(stage) for name, stage in table.items() if _trains(name, stage)}
    wanted = {str(table[name].get("bias")) for name, needed in needs.items() if "bias" in needed}
    return {
        name: stage
        for name, stage in table.items()
        if name in HEAD or not needs or not isinstance(stage, Mapping) or stage.get("kind") != "bias" or name in wanted
    }


def _trains(name: str, stage: Any) -> bool:
    return name not in HEAD and isinstance(stage, Mapping) and extends(stage.get("kind"), "train", "search")


def _needs(stage: Mapping[str, Any]) -> Collection[str]:
    """Return what the loss of a training stage needs: nothing if it learns no task, or for unknown names, which are refused later."""
    if _name(stage, "loss", PLAIN["loss"]) == PLAIN["loss"]:
        return frozenset()  # the usual loss needs nothing, whatever the objective
    from ticketlab.losses.base import sources_of

    with contextlib.suppress(SettingError):
        objective = build_component("objective", stage.get("objective", PLAIN["objective"]), "")
        if any(getattr(part, "uses_task", False) for part in with_components(objective)):
            return sources_of(build_component("loss", stage["loss"], ""))
    return frozenset()


def _name(stage: Mapping[str, Any], key: str, default: str) -> str:
    value = stage.get(key, default)
    return str(value.get("name") if isinstance(value, Mapping) else value)


def _choose_bias(table: Table, bias: str, stages: list[str]) -> Table:
    """Set the bias model of the recipe's bias stages, or the file of probabilities on the ``stages`` that need one."""
    known = registry.current()
    if known.knows("bias model", bias):
        found = [name for name, stage in table.items() if isinstance(stage, Mapping) and stage.get("kind") == "bias"]
        table = table if found else _put_first(table, BIAS, {"kind": "bias"})
        for name in found or [BIAS]:
            table = tables.merge(table, {name: {"model": {"name": bias}}})
        return table
    if not is_external(bias):
        raise UsageError(f"--bias {bias}: neither a file nor a bias model{did_you_mean(bias, known.names('bias model'))}")
    for name in stages:
        table = tables.merge(table, {name: {"bias": bias}})
    return table


def _give_teacher(table: Table, student: str) -> Table:
    before = list(table)[: list(table).index(student)]
    task = _task_of(table[student])
    plain = [name for name in before if _trains(name, table[name]) and _is_plain_training(table[name]) and _task_of(table[name]) == task]
    if not plain:
        if TEACHER in table:
            raise UsageError(
                f"{student}.teacher: the stage `{TEACHER}` does not train with plain cross-entropy on the same task; name the teacher "
                f"(--set {student}.teacher=...)"
            )
        own = table[student]
        settings = {key: own[key] for key in TEACHER_SETTINGS if key in own} if extends(own["kind"], "train") else {}
        table = _put_first(table, TEACHER, {"kind": "train", **settings, "loss": "cross-entropy", **_task_of(own)})
        plain = [TEACHER]
    return tables.merge(table, {student: {"teacher": plain[0]}})


def _task_of(stage: Mapping[str, Any]) -> Table:
    """Return the setting of a stage that names its own task; empty if it has none."""
    return {FIELD: stage[FIELD]} if stage.get(FIELD, "none") != "none" else {}


def _is_plain_training(stage: Mapping[str, Any]) -> bool:
    plain = all(_name(stage, key, default) == default for key, default in PLAIN.items())
    return plain and extends(stage["kind"], "train") and stage.get("ticket", "none") == "none"


def _put_first(table: Table, name: str, stage: Table) -> Table:
    """Return the table with a stage before all others."""
    head = {key: value for key, value in table.items() if key in HEAD}
    return {**head, name: stage, **{key: value for key, value in table.items() if key not in head}}
