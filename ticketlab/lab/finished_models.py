"""Finished models from outside a recipe: where they are, and the recipe of one stage that looks at one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.core import files, progress
from ticketlab.core.errors import UsageError
from ticketlab.core.settings import to_table
from ticketlab.lab.results import checkpoint, learnt_from, read_results
from ticketlab.recipes import recipe, tables
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.tables import Table
from ticketlab.stages.base import model_folder
from ticketlab.tasks.base import Task


def one_stage(
    kind: str,
    model: str,
    tasks: Sequence[Task],
    settings: Mapping[str, Any],
    sets: Sequence[str],
    seed: int = 0,
    max_length: int | None = None,
    ood: Sequence[Task] = (),
    ood_map: Sequence[str] = (),
) -> Recipe:
    """Return a recipe of a single stage of ``kind`` on a finished model.

    :raises UsageError: there is no task, no such model, or a setting is wrong.
    """
    if not tasks:
        raise UsageError("there is no task: give one with --task, a name (`ticketlab show task` lists them) or a path")
    place = locate(model)
    table: Table = {"model": place, "seeds": [seed], "tasks": [{"name": task.name, **to_table(task)} for task in tasks]}
    table |= {"ood": [{"name": task.name, **to_table(task)} for task in ood], "ood_map": list(ood_map)}
    table["scale"] = _scale_of(model)
    max_length = max_length or _max_length_of(model, tasks[0].name)
    if max_length is not None:
        table["max_length"] = max_length
    table[kind] = {"kind": kind, "model": place, **settings}
    named = [{"name": attack["name"]} if isinstance(attack, Mapping) else attack for attack in settings.get("attacks", ())]
    plain = _made(kind, table | {kind: {"kind": kind, "model": place, **({"attacks": named} if named else {})}})
    for assignment in sets:
        table = tables.override(table, assignment)
    return evolve(_made(kind, table), plain=plain)


def _made(kind: str, table: Table) -> Recipe:
    """Return the recipe of a table; what the stage computes in is what the results say."""
    made = recipe.from_table_of_stages(kind, table)
    own = getattr(made.stages[kind], "precision", None)
    return evolve(made, precision=own) if own else made


def locate(model: str) -> str:
    """Return the folder or hub name that MODEL means; a run's directory means the model that the run reported.

    :raises UsageError: there is no such folder, and the name can be none of the hub.
    """
    place = in_lab(model)
    if not Path(place).exists() and "/" not in place:
        what = (
            "an encoder without a classifier; train one with `ticketlab run`"
            if model == "demo"
            else "no folder here, and no recipe with a finished run in the lab"
        )
        raise UsageError(f"{model}: {what} (a model on the hub is written owner/name)")
    return place


def in_lab(model: str) -> str:
    """Return the model of a run's directory or of a stage's folder; any other name as it is.

    Of a run it is the first finished model that was measured, or if there is none the first checkpoint.

    :raises UsageError: the run reported no model, or it has been removed.
    """
    folder = files.expand(model)
    if (folder / "results.json").is_file():
        folder = _of_run(folder)
    if (folder / "model" / "config.json").is_file():
        folder = folder / "model"
    return str(folder) if folder.exists() else model


def _max_length_of(model: str, task: str) -> int | None:
    """Return the longest input of a task in the run whose directory MODEL is; None for any other model."""
    written = files.expand(model) / "recipe.toml"
    if not written.is_file():
        return None
    _, table, _ = tables.read(written)
    found = tables.resolve(table, task=task).get("max_length")
    return found if isinstance(found, int) else None


def _scale_of(model: str) -> str:
    """Return the scale of the run whose directory MODEL is; of any other model it is empty, as nobody says."""
    results = files.expand(model) / "results.json"
    return str(read_results(results).get("scale", "")) if results.is_file() else ""


def called(model: str) -> str:
    """Return what tables call MODEL: a run that holds several models goes by the one that is taken, too.

    :raises UsageError: as :func:`in_lab`.
    """
    folder = files.expand(model)
    if not (folder / "results.json").is_file():
        return model
    reported = _reported(folder)
    return f"{model}: {reported.name}, seed {reported.seed}" if reported.is_one_of_several else model


@frozen
class _Reported:
    """The model of a run that stands for it: the first finished one that was measured."""

    task: str
    seed: str
    name: str
    folder: Path
    is_one_of_several: bool


def _of_run(folder: Path) -> Path:
    reported = _reported(folder)
    if not reported.folder.is_dir():
        raise UsageError(f"{folder}: the model of `{reported.name}` is not in the lab any more ({reported.folder} is missing)")
    if reported.is_one_of_several:
        where = f"{reported.task}, seed {reported.seed}: {reported.folder}"
        progress.say(f"{folder} holds several models; taking `{reported.name}` of {where}")
    return reported.folder


def _reported(folder: Path) -> _Reported:
    results = read_results(folder / "results.json")
    models = [
        (task, seed, stage["of"], stage.get("at", ""), stages[stage["of"]]["key"])
        for task, seeds in results["tasks"].items()
        for seed, stages in seeds.items()
        for name, stage in stages.items()
        if stage.get("of") in stages and name not in learnt_from(stages)
    ]
    if not models:
        raise UsageError(f"{folder}: the run evaluated no model of its own")
    task, seed, of, at, key = min(models, key=lambda model: model[3] != "")
    place = folder.resolve().parent.parent / "stages" / key[:2] / key / model_folder(at)
    return _Reported(task, seed, checkpoint(of, at), place, len({(at, key) for *_, at, key in models}) > 1)
