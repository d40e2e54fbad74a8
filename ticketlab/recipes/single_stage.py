"""The recipe of one stage that evaluates or attacks a finished model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from attrs import evolve

from ticketlab.attacks.results.record_file import file_name
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab.finished_models import locate
from ticketlab.lab.layout import RECIPE, RESULTS
from ticketlab.lab.results import read_results
from ticketlab.recipes import contradictions, recipe, tables
from ticketlab.recipes.measured_model import MeasuredModel
from ticketlab.recipes.overrides import task_tables
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.tables import Table
from ticketlab.tasks.base import Task

if TYPE_CHECKING:
    from ticketlab.stages.attack import AttackStage


def one_stage(
    kind: str,
    model: str | MeasuredModel,
    tasks: Sequence[Task],
    settings: Mapping[str, Any],
    sets: Sequence[str],
    seed: int = 0,
    max_length: int | None = None,
    ood: Sequence[Task] = (),
    ood_map: Sequence[str] = (),
) -> Recipe:
    """Return a recipe of a single stage of ``kind`` on a finished model: a folder, a hub name, or one that was looked up.

    :raises UsageError: there is no task or no such model, or a setting is invalid.
    """
    if not tasks:
        raise UsageError("no task given: use --task with a name (`ticketlab show task` lists them) or a path")
    model = MeasuredModel(model, locate(model)) if isinstance(model, str) else model
    location = model.location
    table: Table = {"model": location, "seeds": [seed], "tasks": task_tables(tasks)}
    table |= {"ood": task_tables(ood), "ood_map": list(ood_map)}
    table["scale"] = scale_of(model.name)
    given = {kind: settings} | ({} if max_length is None else {"max_length": max_length})
    max_length = max_length or max_length_of(model.name, tasks[0].name)
    if max_length is not None:
        table["max_length"] = max_length
    table[kind] = {"kind": kind, "model": location, **settings}
    named = [{"name": attack["name"]} if isinstance(attack, Mapping) else attack for attack in settings.get("attacks", ())]
    plain = _build(kind, table | {kind: {"kind": kind, "model": location, **({"attacks": named} if named else {})}})
    contradictions.refuse_repetitions(sets)
    for assignment in sets:
        table = tables.override(table, assignment)
        contradictions.refuse_replaced(given, table, assignment)
    return evolve(_build(kind, table), without_overrides=plain)


def one_stage_per_attack(recipe: Recipe) -> Recipe:
    """Return an attack recipe with a stage for each attack: adding an attack later leaves the results of the others valid."""
    stage = cast("AttackStage", recipe.stages["attack"])
    if len(stage.attacks) == 1:
        return recipe
    return evolve(recipe, stages={f"attack-{file_name(attack.label)}": evolve(stage, attacks=(attack,)) for attack in stage.attacks})


def _build(kind: str, table: Table) -> Recipe:
    """Return the recipe of a table, with the precision of its stage: results report the precision that was used."""
    built = recipe.build_recipe(kind, table)
    own = getattr(built.stages[kind], "precision", None)
    return evolve(built, precision=own) if own else built


def max_length_of(model: str, task: str) -> int | None:
    """Return the maximum length of a task in the run whose directory is MODEL; None if MODEL is not a run."""
    written = files.expand(model) / RECIPE
    if not written.is_file():
        return None
    _, table, _ = tables.read(written)
    found = tables.resolve(table, task=task).get("max_length")
    return found if isinstance(found, int) else None


def scale_of(model: str) -> str:
    """Return the scale of the run whose directory is MODEL; empty, which means unknown, if MODEL is not a run."""
    results = files.expand(model) / RESULTS
    return str(read_results(results).get("scale", "")) if results.is_file() else ""
