"""Overrides of a recipe by name, as set by the flags of ``ticketlab run``: which setting of which stages each one changes.

:data:`FLAGS` lists those that set one setting on every stage of some kinds; the functions below handle the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from ticketlab.core import registry
from ticketlab.core.errors import SettingError, UsageError
from ticketlab.core.references import stage_of
from ticketlab.core.setting_values import settings_of
from ticketlab.core.settings import build_component, component_table
from ticketlab.lab.results import TRAININGS
from ticketlab.recipes import stage_tasks, tables
from ticketlab.recipes.head import HEAD
from ticketlab.recipes.recipe import extends
from ticketlab.recipes.tables import Table
from ticketlab.tasks.base import Task
from ticketlab.tasks.datasets import lookup

NO_ATTACK = "none"


class Overrides(TypedDict, total=False):
    """What can be overridden by name. The names are those of the flags."""

    model: str
    max_length: int
    precision: str
    sparsity: float | str
    """The sparsity of every draw stage, for all units; may be a fraction such as ``"1/6"``."""
    heads: float | str
    """The sparsity of heads in every draw stage, if it differs. ``neurons`` is the same for neurons."""
    neurons: float | str
    scope: str
    """The scope of every draw stage, for all units."""
    like: str
    """For every draw stage, instead of a sparsity: a run or a ticket file; see the setting of ``draw``."""
    ood: Sequence[Task | str | Path]
    """Challenge sets that replace the recipe's: names, paths or tasks."""
    ood_map: Sequence[str]
    """``TASK_LABEL=OOD_LABEL`` pairs for labels with different names; added to the recipe's pairs unless ``ood`` is given."""
    shortcut: float | str
    """The rate of a shortcut in every task of the run: see the setting of tasks."""
    pruner: str
    """The pruner of every search stage. ``adversary``, ``loss`` and ``stop`` also apply to every search stage."""
    bias: str
    """A bias model, or a file of probabilities, for every stage whose loss needs one."""
    adversary: str
    loss: str
    stop: str
    text: str
    """For every stage whose objective is masked language modelling: the file, folder or data set to train on."""
    epochs: float
    """Of every training: of train stages and of searches. ``lr`` (of the weights) and ``batch_size`` likewise."""
    lr: float
    batch_size: int
    attacks: str | Sequence[str]
    """The attacks of every attack stage; ``["none"]`` removes the attack stages."""
    metrics: Sequence[str]
    """Further metrics of every evaluate stage."""
    examples: int
    """Number of examples to attack, in every attack stage."""
    word_vectors: str
    """For every attack that uses word vectors. ``encoder`` and ``mlm`` likewise apply to every attack that uses them."""
    encoder: str
    mlm: str
    stages: Mapping[str, Mapping[str, Any]]
    """Settings by stage name, such as ``{"retrain": {"adversary": "freelb"}}``."""


class FlagTarget(NamedTuple):
    """A flag, and the setting that it sets on every stage of some kinds."""

    flag: str
    kinds: tuple[str, ...]
    setting: str


FLAGS = {
    "sparsity": FlagTarget("--sparsity", ("draw",), "sparsity"),
    "scope": FlagTarget("--scope", ("draw",), "scope"),
    "heads": FlagTarget("--heads", ("draw",), "heads"),
    "neurons": FlagTarget("--neurons", ("draw",), "neurons"),
    "like": FlagTarget("--like", ("draw",), "like"),
    "pruner": FlagTarget("--pruner", ("search",), "pruner"),
    "adversary": FlagTarget("--adversary", ("search",), "adversary"),
    "loss": FlagTarget("--loss", ("search",), "loss"),
    "stop": FlagTarget("--stop", ("search",), "stop"),
    "epochs": FlagTarget("--epochs", TRAININGS, "epochs"),
    "lr": FlagTarget("--lr", TRAININGS, "lr"),
    "batch_size": FlagTarget("--batch-size", TRAININGS, "batch_size"),
    "metrics": FlagTarget("--metric", ("evaluate",), "metrics"),
    "examples": FlagTarget("--n", ("attack",), "examples"),
}
"""By the name of the override."""
OTHER_FLAGS = {"attacks": "--attack"}
"""The flags of other overrides whose names differ."""
RESETS = {"sparsity": {"heads": "none", "neurons": "none"}, "scope": {"heads_scope": "none", "neurons_scope": "none"}}
"""Settings that an override also resets: a sparsity or scope for all units replaces the recipe's own for heads and neurons."""


TRAINING_SETTINGS = ("loss", "adversary")
"""The flags of a search whose settings every training has."""


def flag_of(key: str) -> str:
    """Return the flag of ``ticketlab run`` for the name of an override."""
    return FLAGS[key].flag if key in FLAGS else OTHER_FLAGS.get(key, f"--{key.replace('_', '-')}")


def apply_overrides(table: Table, name: str, overrides: Overrides) -> Table:
    """Return the resolved table of the recipe ``name`` with all overrides of its stages and challenge sets applied.

    :raises UsageError: the recipe has no stage that an override sets, or two overrides contradict each other.
    """
    table = _set_challenge_sets(table, overrides)
    if "shortcut" in overrides:
        table = table | {"tasks": [{**task, "shortcut": overrides["shortcut"]} for task in table["tasks"]]}
    with_like = [FLAGS[key].flag for key in ("sparsity", "heads", "neurons", "scope") if key in overrides and "like" in overrides]
    if with_like:
        raise UsageError(f"{with_like[0]}: with --like the sparsity of each matrix is that of the other ticket; give one of the two")
    if "attacks" in overrides:
        table = _replace_attacks(table, name, as_list(overrides["attacks"]))
    for key, (flag, kinds, setting) in FLAGS.items():
        if key in overrides:
            for stage in _stages_of_kinds(table, name, kinds, flag):
                table = tables.merge(table, {stage: {**RESETS.get(key, {}), setting: overrides[key]}})  # type: ignore[literal-required]
    table = _pass_draw_settings_to_searches(table, overrides)
    if "text" in overrides:
        table = _set_text(table, name, overrides["text"])
    resources: dict[str, str] = {key: overrides[key] for key in ("word_vectors", "encoder", "mlm") if key in overrides}
    if resources:
        table = _set_attack_resources(table, name, resources)
    for stage, settings in overrides.get("stages", {}).items():
        if not isinstance(table.get(stage), Mapping):
            setting = next(iter(settings), "")
            hint = _hint(table, (), f"--{setting}")
            raise UsageError(f"--{stage}-{setting}: the recipe `{name}` has no stage `{stage}`; {_describe_stages(table)}{hint}")
        if stage_tasks.FIELD in settings:  # replaced, since two local files have the same name
            task = stage_tasks.find_stage_task(settings[stage_tasks.FIELD], f"--{stage}-{stage_tasks.FIELD}")
            table = {**table, stage: {**table[stage], stage_tasks.FIELD: task}}
        table = tables.merge(table, {stage: {key: value for key, value in settings.items() if key != stage_tasks.FIELD}})
    return table


def attack_tables(attacks: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[Table]:
    """Return the tables of attacks with each of ``settings`` (``word_vectors``, ``encoder``, ...) set on the attacks that have it.

    :raises UsageError: no attack has one of the settings.
    """
    known = [{field.name for field in settings_of(registry.current().get("attack", attack["name"]))} for attack in attacks]
    for setting in settings:
        if not any(setting in names for names in known):
            requested = ", ".join(attack["name"] for attack in attacks)
            raise UsageError(f"{_flag(setting)}: none of the requested attacks ({requested}) has this setting")
    return [
        {**attack, **{setting: value for setting, value in settings.items() if setting in names}}
        for attack, names in zip(attacks, known, strict=True)
    ]


def as_list(value: Any) -> list[Any]:
    """Return a list of a single string, or of the items of several."""
    return [value] if isinstance(value, str) else list(value)


def find_tasks(tasks: Task | str | Path | Sequence[Task | str | Path]) -> list[Task]:
    """Return the tasks for tasks, names or paths. A :class:`~pathlib.Path` is never a name.

    :raises UsageError: one is none of these. Also raises the errors of :func:`ticketlab.tasks.datasets.lookup.find_task`.
    """
    several: Any = [tasks] if isinstance(tasks, (Task, str, Path)) else tasks
    wrong = [one for one in several if not isinstance(one, (Task, str, Path))] if isinstance(several, Sequence) else [several]
    if wrong:
        raise UsageError(
            f"a task is a name, a path or an object such as ticketlab.LocalDataset(path=...), not of type {type(wrong[0]).__name__}"
        )
    return [_find_task(task) for task in several]


def _find_task(task: Task | str | Path) -> Task:
    if isinstance(task, Path):
        return lookup.find_task(f"./{task}" if len(task.parts) == 1 else str(task))
    return lookup.find_task(task) if isinstance(task, str) else task


def task_tables(tasks: Sequence[Task]) -> list[Table]:
    """Return tasks as tables, as they are written in a recipe."""
    return [component_table(task) for task in tasks]


def _set_challenge_sets(table: Table, overrides: Overrides) -> Table:
    pairs = as_list(overrides.get("ood_map", ()))
    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"--ood-map {pair}: write TASK_LABEL=OOD_LABEL")
    if "ood" in overrides:
        table = table | {"ood": task_tables(find_tasks(overrides["ood"])), "ood_map": []}
    return table | {"ood_map": [*table.get("ood_map", []), *pairs]}


def _pass_draw_settings_to_searches(table: Table, overrides: Overrides) -> Table:
    """Set the sparsities and scope of the draw on its search too, since some pruners use them as their target."""
    kinds = _kinds(table)
    for stage in [name for name, kind in kinds.items() if kind == "search"]:
        draws = [table[name] for name, kind in kinds.items() if kind == "draw" and stage_of(table[name]["search"]) == stage]
        name = _name_of(table[stage]["pruner"])
        if not registry.current().knows("pruner", name):
            continue  # building the stage reports it with its path
        pruner = registry.current().get("pruner", name)
        if draws and ("sparsity" in overrides or "pruner" in overrides):
            table = tables.merge(table, {stage: {"sparsity": draws[0]["sparsity"]}})
        elif "sparsity" in overrides:
            table = tables.merge(table, {stage: {"sparsity": overrides["sparsity"]}})
        if draws and getattr(pruner, "needs_sparsity", False) and overrides.keys() & {"sparsity", "heads", "neurons", "pruner"}:
            table = tables.merge(table, {stage: {group: draws[0][group] for group in ("heads", "neurons")}})
        if "scope" in overrides and "scope" in {field.name for field in settings_of(pruner)}:
            table = tables.merge(table, {stage: {"pruner": {"name": name, "scope": overrides["scope"]}}})
    return table


def _set_text(table: Table, name: str, text: str) -> Table:
    readers = [stage for stage in _kinds(table) if table[stage].get("objective", {}).get("name") == "mlm"]
    if not readers:
        raise UsageError(f"--text: the recipe `{name}` has no stage whose objective is `mlm`, such as the search of `orticket`")
    for stage in readers:
        table = tables.merge(table, {stage: {"objective": {"text": text}}})
    return table


def _replace_attacks(table: Table, name: str, attacks: Sequence[str]) -> Table:
    """Replace the attacks; those that the recipe already has keep the recipe's settings."""
    if NO_ATTACK in attacks:
        if len(attacks) > 1:
            raise UsageError("--attack: `none` removes the attacks and cannot be combined with others")
        sources = {value.get("augment") for key, value in table.items() if key not in HEAD}
        return {key: value for key, value in table.items() if key in HEAD or value["kind"] != "attack" or key in sources}
    table = dict(table)
    evaluations = [key for key, kind in _kinds(table).items() if kind == "evaluate"]
    if evaluations and "attack" not in _kinds(table).values():
        table["attack"] = {"kind": "attack", "model": table[evaluations[-1]]["model"], "attacks": []}
    for stage in _stages_of_kinds(table, name, ("attack",), "--attack"):
        known = {_label(attack): attack for attack in table[stage]["attacks"]}
        table[stage] = table[stage] | {"attacks": [known.get(_label(attack), {"name": attack}) for attack in attacks]}
    return table


def _set_attack_resources(table: Table, name: str, resources: Mapping[str, str]) -> Table:
    flags = " and ".join(_flag(setting) for setting in resources)
    return table | {
        stage: table[stage] | {"attacks": attack_tables(table[stage]["attacks"], resources)}
        for stage in _stages_of_kinds(table, name, ("attack",), flags)
    }


def _kinds(table: Table) -> dict[str, str]:
    return {name: stage["kind"] for name, stage in table.items() if name not in HEAD}


def _stages_of_kinds(table: Table, name: str, kinds: Sequence[str], flag: str) -> list[str]:
    stages = [stage for stage, kind in _kinds(table).items() if extends(kind, *kinds)]
    if not stages:
        raise UsageError(
            f"{flag}: the recipe `{name}` has no {' or '.join(kinds)} stage; {_describe_stages(table)}{_hint(table, kinds, flag)}"
        )
    return stages


def _describe_stages(table: Table) -> str:
    return f"its stages are {', '.join(f'{stage} ({kind})' if stage != kind else stage for stage, kind in _kinds(table).items())}"


def _hint(table: Table, kinds: Sequence[str], flag: str) -> str:
    """Return how to get what a flag requests for a stage that the recipe lacks; empty if there is no way."""
    if "attack" in kinds:
        return " (`--attack NAME` adds one)"
    trains = [stage for stage, kind in _kinds(table).items() if extends(kind, *TRAININGS)]
    setting = flag.removeprefix("--")
    return f" (for `{trains[0]}`: `--set {trains[0]}.{setting}=NAME`)" if trains and setting in TRAINING_SETTINGS else ""


def _name_of(component: Mapping[str, Any] | str) -> str:
    return component if isinstance(component, str) else str(component["name"])


def _label(attack: Mapping[str, Any] | str) -> str:
    try:
        return build_component("attack", attack, "").label
    except SettingError:
        return _name_of(attack)  # building the recipe reports what is wrong with it


def _flag(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"
