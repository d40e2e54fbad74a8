"""Finished models in a lab or elsewhere: finds the model folder for a path, a run or a stage."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from ticketlab.core import files, progress
from ticketlab.core.errors import UsageError
from ticketlab.lab.layout import MODEL, RESULTS, is_run, lab_of_run, model_folder, stage_folder
from ticketlab.lab.results import augmentation_sources, checkpoint_name, read_results, stage_results


def locate(model: str) -> str:
    """Return the folder or hub name of MODEL. If MODEL is the directory of a run, it is the folder of the model that the run reported.

    :raises UsageError: there is no such folder, and the name cannot be the name of a model on the hub.
    """
    place = resolve(model)
    if not Path(place).exists() and "/" not in place:
        what = (
            "an encoder without a classifier; train one with `ticketlab run`"
            if model == "demo"
            else "neither a folder here nor a recipe with a finished run in the lab"
        )
        raise UsageError(f"{model}: {what} (a model on the hub is written owner/name)")
    return place


def resolve(model: str) -> str:
    """Return the model folder of a run's directory or a stage's folder. Any other name is returned unchanged.

    The model of a run is the first finished model that it measured, or the first checkpoint if it measured no finished model.

    :raises UsageError: the run reported no model, or the model has been removed.
    """
    folder = files.expand(model)
    if is_run(folder):
        folder = _of_run(folder)
    if (folder / MODEL / "config.json").is_file():
        folder = folder / MODEL
    return str(folder) if folder.exists() else model


def display_name(model: str) -> str:
    """Return the name of MODEL in tables. For a run with several models, it includes the name of the model that is used.

    :raises UsageError: see :func:`resolve`.
    """
    folder = files.expand(model)
    if not is_run(folder):
        return model
    reported = _reported(folder)
    return f"{model}: {reported.name}, seed {reported.seed}" if reported.is_one_of_several else model


@frozen
class _Reported:
    """The model that represents a run: the first finished one that was measured."""

    task: str
    seed: str
    name: str
    folder: Path
    is_one_of_several: bool


def _of_run(folder: Path) -> Path:
    reported = _reported(folder)
    if not reported.folder.is_dir():
        raise UsageError(f"{folder}: the model of `{reported.name}` is no longer in the lab ({reported.folder} is missing)")
    if reported.is_one_of_several:
        where = f"{reported.task}, seed {reported.seed}: {reported.folder}"
        progress.say(f"{folder} holds several models; using `{reported.name}` of {where}")
    return reported.folder


def _reported(folder: Path) -> _Reported:
    results = read_results(folder / RESULTS)
    models = [
        (stage.task, stage.seed, stage.result["of"], stage.result.get("at", ""), stage.siblings[stage.result["of"]]["key"])
        for stage in stage_results(results)
        if stage.result.get("of") in stage.siblings and stage.name not in augmentation_sources(stage.siblings)
    ]
    if not models:
        raise UsageError(f"{folder}: the run evaluated no model of its own")
    task, seed, of, at, key = min(models, key=lambda model: model[3] != "")
    place = stage_folder(lab_of_run(folder), key) / model_folder(at)
    return _Reported(task, seed, checkpoint_name(of, at), place, len({(at, key) for *_, at, key in models}) > 1)
