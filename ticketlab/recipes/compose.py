"""Composes a recipe: its name or file, the task, and what is wanted otherwise. What ``ticketlab run`` does, from Python too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from attrs import evolve

from ticketlab.core import registry
from ticketlab.core.errors import SettingError, UsageError, did_you_mean
from ticketlab.core.settings import build_component, settings_of, to_table
from ticketlab.recipes import ineffective_settings, requirements
from ticketlab.recipes import recipe as recipes
from ticketlab.recipes import tables as recipe_tables
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.single_stage import one_stage
from ticketlab.recipes.tables import Table
from ticketlab.tasks.base import Task
from ticketlab.tasks.datasets import lookup

DEFAULT = "ticket"
NO_ATTACK = "none"


class Overrides(TypedDict, total=False):
    """What can be asked for by name, in the words of the flags."""

    model: str
    max_length: int
    precision: str
    sparsity: float | str
    """Of every draw stage, for all its units; ``"1/6"`` is a number too."""
    heads: float | str
    """Of every draw stage: the sparsity of heads, where it is another, as ``neurons``."""
    neurons: float | str
    scope: str
    """Of every draw stage, for all its units."""
    like: str
    """Of every draw stage, instead of a sparsity: a run or a ticket file; see the setting of ``draw``."""
    ood: Sequence[Task | str]
    """Challenge sets instead of the recipe's: names, paths or tasks."""
    ood_map: Sequence[str]
    """``TASK_LABEL=OOD_LABEL``, where a challenge set calls a label otherwise; beside the recipe's, if its challenge sets stay."""
    pruner: str
    """Of every search stage, as ``adversary``, ``loss`` and ``stop``."""
    bias: str
    """A bias model, or a file of probabilities, for every stage whose loss needs one."""
    adversary: str
    loss: str
    stop: str
    text: str
    """Of every stage whose objective is masked language modelling: the file, folder or data set to train on."""
    attacks: str | Sequence[str]
    """Instead of those of every attack stage; ``["none"]`` leaves the attack stages out."""
    examples: int
    """To attack, in every attack stage."""
    word_vectors: str
    """Of every attack that has them, as ``encoder`` and ``mlm``."""
    encoder: str
    mlm: str
    stages: Mapping[str, Mapping[str, Any]]
    """Settings by stage name, such as ``{"retrain": {"adversary": "freelb"}}``."""


FLAGS = {
    "sparsity": ("--sparsity", "draw", "sparsity"),
    "scope": ("--scope", "draw", "scope"),
    "heads": ("--heads", "draw", "heads"),
    "neurons": ("--neurons", "draw", "neurons"),
    "like": ("--like", "draw", "like"),
    "pruner": ("--pruner", "search", "pruner"),
    "adversary": ("--adversary", "search", "adversary"),
    "loss": ("--loss", "search", "loss"),
    "stop": ("--stop", "search", "stop"),
    "examples": ("--n", "attack", "examples"),
}
"""The flag, the kind of stage and its setting, by the name of the override."""
OF_ALL_UNITS = {"sparsity": {"heads": "none", "neurons": "none"}, "scope": {"heads_scope": "none", "neurons_scope": "none"}}
"""What the recipe's settings for heads and neurons become when one is asked for that holds for all units."""
ARGUMENTS = ("tasks", "scale", "seeds", "sets")


def compose(
    recipe: str | Path | None = None,
    *,
    tasks: Task | str | Sequence[Task | str] = (),
    scale: str | None = None,
    seeds: int | Sequence[int] | None = None,
    sets: str | Iterable[str] = (),
    **overrides: Unpack[Overrides],
) -> Recipe:
    """Return the recipe of this name or file with everything else that is asked for laid over it.

    The recipe's own settings for the task and the scale come first, then ``overrides``, then ``sets`` (``"search.pruner.lr=0.05"``).
    Each of several tasks has its own (:attr:`~ticketlab.recipes.recipe.Recipe.per_task`), and a setting reaches every task that has its
    place. Without a recipe it is ``ticket``: fine-tune, search, draw, retrain, evaluate, attack. A task is a name, a path, or a
    :class:`~ticketlab.tasks.base.Task` (``ticketlab.LocalDataset(path=..., text_columns=("review",), label_column="stars")``);
    ``seeds=3`` is 0, 1 and 2.

    :raises UsageError: no such recipe, scale, override or stage; an unknown setting, or a value outside its bounds; no task.
    """
    for key in overrides:
        if key not in Overrides.__annotations__:
            raise UsageError(f"compose has no argument `{key}`{did_you_mean(key, [*Overrides.__annotations__, *ARGUMENTS])}")
    chosen = [lookup.find_task(task) if isinstance(task, str) else task for task in _listed(tasks)]
    sets = _listed(sets)
    name, raw, source = recipe_tables.read(recipe or DEFAULT)
    if chosen:
        raw = raw | {"tasks": [{"name": task.name, **to_table(task)} for task in chosen]}
    tables: dict[str | None, Table] = {}
    alone: dict[str | None, Recipe] = {}
    for task in _with_own_settings(raw):
        table = recipe_tables.resolve(raw, scale=scale, task=task)
        own = recipes.build_recipe(name, table, source=source, task=task)  # errors of the file have its lines
        alone[task] = _plain(own, chosen=bool(chosen))
        table = own.to_table()
        if not table["tasks"]:
            raise UsageError("there is no task: give one with --task, a name (`ticketlab show task` lists them) or a path")
        table |= {key: overrides[key] for key in ("model", "max_length", "precision") if key in overrides}
        if seeds is not None:
            table["seeds"] = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
        tables[task] = requirements.add_required_stages(_lay(table, name, overrides), overrides.get("bias"))
    for assignment in sets:
        tables = _override(tables, assignment)
    built = {
        task: evolve(
            recipes.build_recipe(name, requirements.remove_unneeded_stages(requirements.add_required_stages(table))),
            source=source,
            plain=alone[task],
        )
        for task, table in tables.items()
    }
    ineffective_settings.refuse(list(built.values()), FLAGS, overrides, sets)
    others = built.get(None, next(iter(built.values())))
    return recipes.combine(others, {task: recipe for task, recipe in built.items() if task is not None})


def _plain(own: Recipe, *, chosen: bool) -> Recipe:
    """Return the recipe that the name alone stands for; of tasks that were ``chosen`` all examples are learnt from."""
    tasks = [evolve(task, train_rows=None, train_share=None) for task in own.tasks] if chosen else own.tasks
    plain = evolve(own, tasks=tasks)
    with contextlib.suppress(UsageError):  # alone it may lack what is given by name
        return recipes.build_recipe(own.name, requirements.remove_unneeded_stages(requirements.add_required_stages(plain.to_table())))
    return plain


def judge(
    kind: Literal["evaluate", "attack"],
    model: str,
    *,
    tasks: Task | str | Sequence[Task | str],
    sets: str | Iterable[str] = (),
    max_length: int | None = None,
    ood: Task | str | Sequence[Task | str] = (),
    ood_map: str | Sequence[str] = (),
    **settings: Any,
) -> Recipe:
    """Return the recipe that evaluates or attacks a finished classifier, as ``ticketlab evaluate`` and ``ticketlab attack`` do.

    ``model`` is a folder, a hub name, or the directory of a run or stage; ``ood`` are challenge sets; ``settings`` are those of the stage
    (``attacks=["deepwordbug"], examples=200``).

    :raises UsageError: no task, no such model, or an unknown setting.
    """
    chosen = [lookup.find_task(task) if isinstance(task, str) else task for task in _listed(tasks)]
    others = [lookup.find_task(task) if isinstance(task, str) else task for task in _listed(ood)]
    return one_stage(kind, model, chosen, settings, _listed(sets), max_length=max_length, ood=others, ood_map=_listed(ood_map))


def _listed(value: Any) -> list[Any]:
    """Return a list of what is one thing or several."""
    return [value] if isinstance(value, (str, Task)) else list(value)


def _with_own_settings(raw: Table) -> list[str | None]:
    """Return the tasks that the recipe is resolved for: each of a name that it has settings for, and None for all others together.

    They come in the order of the tasks; local files go by the name `local`.
    """
    tasks = raw.get("tasks") or []
    named = [task.get("name") if isinstance(task, Mapping) else task for task in tasks] if isinstance(tasks, list) else []
    own = recipe_tables.overlays(raw, "per_task")
    return list(dict.fromkeys(name if isinstance(name, str) and name in own else None for name in named)) or [None]


def _override(tables: Mapping[str | None, Table], assignment: str) -> dict[str | None, Table]:
    """Apply ``path=value`` for every task where the recipe has the place, such as the challenge set of one task.

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


def _lay(table: Table, name: str, overrides: Overrides) -> Table:
    for pair in _listed(overrides.get("ood_map", ())):
        if "=" not in pair:
            raise UsageError(f"--ood-map {pair}: write TASK_LABEL=OOD_LABEL")
    if "ood" in overrides:
        sets = [lookup.find_task(one) if isinstance(one, str) else one for one in _listed(overrides["ood"])]
        table = table | {"ood": [{"name": one.name, **to_table(one)} for one in sets], "ood_map": []}
    table = table | {"ood_map": [*table.get("ood_map", []), *_listed(overrides.get("ood_map", ()))]}
    both = [FLAGS[key][0] for key in ("sparsity", "heads", "neurons", "scope") if key in overrides and "like" in overrides]
    if both:
        raise UsageError(f"{both[0]}: with --like the sparsity of each matrix is that of the other ticket; give one of the two")
    if "attacks" in overrides:
        table = _replace_attacks(table, name, _listed(overrides["attacks"]))
    for key, (flag, kind, setting) in FLAGS.items():
        if key in overrides:
            for stage in _stages(table, name, kind, flag):
                table = recipe_tables.merge(table, {stage: {**OF_ALL_UNITS.get(key, {}), setting: overrides[key]}})  # type: ignore[literal-required]
    table = _tell_searches(table, overrides)
    if "text" in overrides:
        table = _give_text(table, name, overrides["text"])
    resources: dict[str, str] = {key: overrides[key] for key in ("word_vectors", "encoder", "mlm") if key in overrides}
    if resources:
        table = _give_to_attacks(table, name, resources)
    for stage, settings in overrides.get("stages", {}).items():
        if not isinstance(table.get(stage), Mapping):
            flag = f"--{stage}-{next(iter(settings), '')}"
            raise UsageError(f"{flag}: the recipe `{name}` has no stage `{stage}`; {_what_there_is(table)}")
        table = recipe_tables.merge(table, {stage: settings})
    return table


def _tell_searches(table: Table, overrides: Overrides) -> Table:
    """Give the sparsity and the scope of the draw to the searches too: some pruners aim at them."""
    kinds = _kinds(table)
    for stage in [name for name, kind in kinds.items() if kind == "search"]:
        drawn = [table[name]["sparsity"] for name, kind in kinds.items() if kind == "draw" and table[name]["search"] == stage]
        if drawn and ("sparsity" in overrides or "pruner" in overrides):
            table = recipe_tables.merge(table, {stage: {"sparsity": drawn[0]}})
        elif "sparsity" in overrides:
            table = recipe_tables.merge(table, {stage: {"sparsity": overrides["sparsity"]}})
        pruner = table[stage]["pruner"]
        if "scope" in overrides and "scope" in {field.name for field in settings_of(registry.current().get("pruner", _name_of(pruner)))}:
            table = recipe_tables.merge(table, {stage: {"pruner": {"name": _name_of(pruner), "scope": overrides["scope"]}}})
    return table


def _name_of(component: Mapping[str, Any] | str) -> str:
    return component if isinstance(component, str) else str(component["name"])


def _give_text(table: Table, name: str, text: str) -> Table:
    readers = [stage for stage in _kinds(table) if table[stage].get("objective", {}).get("name") == "mlm"]
    if not readers:
        raise UsageError(f"--text: the recipe `{name}` has no stage whose objective is `mlm`, such as the search of `orticket` has")
    for stage in readers:
        table = recipe_tables.merge(table, {stage: {"objective": {"text": text}}})
    return table


def _kinds(table: Table) -> dict[str, str]:
    return {name: stage["kind"] for name, stage in table.items() if name not in recipe_tables.HEAD}


def _stages(table: Table, name: str, kind: str, flag: str) -> list[str]:
    found = [stage for stage, known in _kinds(table).items() if known == kind]
    if not found:
        raise UsageError(f"{flag}: the recipe `{name}` has no {kind} stage; {_what_there_is(table)}")
    return found


def _what_there_is(table: Table) -> str:
    stages = ", ".join(f"{stage} ({kind})" if stage != kind else stage for stage, kind in _kinds(table).items())
    trains = [stage for stage, kind in _kinds(table).items() if kind in ("train", "search")]
    flags = f" (`--{trains[0]}-loss`, `--{trains[0]}-adversary`)" if trains else ""
    return f"its stages are {stages}{flags}"


def _replace_attacks(table: Table, name: str, attacks: Sequence[str]) -> Table:
    """Name other attacks; one that the recipe has already keeps the recipe's settings."""
    if NO_ATTACK in attacks:
        if len(attacks) > 1:
            raise UsageError("--attack: `none` leaves attacks out and goes with no other")
        learnt = {value.get("augment") for key, value in table.items() if key not in recipe_tables.HEAD}
        return {key: value for key, value in table.items() if key in recipe_tables.HEAD or value["kind"] != "attack" or key in learnt}
    table = dict(table)
    judged = [key for key, kind in _kinds(table).items() if kind == "evaluate"]
    if judged and "attack" not in _kinds(table).values():
        table["attack"] = {"kind": "attack", "model": table[judged[-1]]["model"], "attacks": []}
    for stage in _stages(table, name, "attack", "--attack"):
        known = {_label(attack): attack for attack in table[stage]["attacks"]}
        table[stage] = table[stage] | {"attacks": [known.get(_label(attack), {"name": attack}) for attack in attacks]}
    return table


def _label(attack: Mapping[str, Any] | str) -> str:
    try:
        return build_component("attack", attack, "").label
    except SettingError:
        return _name_of(attack)  # what is wrong with it is said when the recipe is built


def _give_to_attacks(table: Table, name: str, resources: Mapping[str, str]) -> Table:
    flags = " and ".join(_flag(setting) for setting in resources)
    return table | {
        stage: table[stage] | {"attacks": attack_tables(table[stage]["attacks"], resources)}
        for stage in _stages(table, name, "attack", flags)
    }


def attack_tables(attacks: Sequence[Mapping[str, Any]], asked: Mapping[str, Any]) -> list[Table]:
    """Return the tables of attacks with what is asked for (``word_vectors``, ``encoder``, ...) set on those that have such a setting.

    :raises UsageError: none of them has it.
    """
    fields = [{field.name for field in settings_of(registry.current().get("attack", attack["name"]))} for attack in attacks]
    for setting in asked:
        if not any(setting in known for known in fields):
            names = ", ".join(attack["name"] for attack in attacks)
            raise UsageError(f"{_flag(setting)}: no attack that is asked for ({names}) takes it")
    return [
        {**attack, **{setting: value for setting, value in asked.items() if setting in known}}
        for attack, known in zip(attacks, fields, strict=True)
    ]


def _flag(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"
