"""Finished models in a lab or elsewhere: finds the model folder for a path, a run or a stage."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve, frozen

from ticketlab.core import files, progress
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.lab import mirror
from ticketlab.lab.layout import MODEL, RESULTS, checkpoint_folder, is_run, lab_of_run, model_inside, stage_folder
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


def resolve(model: str, *, task: str | None = None, seed: int | None = None) -> str:
    """Return the model folder of a run's directory or a stage's folder. Any other name is returned unchanged.

    ``task`` and ``seed`` choose a model of a run (:func:`model_of_run`).

    :raises UsageError: the run reported no model, or the model has been removed; or a task or seed is given and ``model`` is not a run.
    """
    folder = files.expand(model)
    if is_run(folder):
        folder = model_of_run(folder, task, seed).folder
    else:
        check_not_of_run(model, task, seed)
    mirror.fetch(folder)
    folder = model_inside(folder) or folder
    return str(folder) if folder.exists() else model


def check_not_of_run(name: str | Path, task: str | None, seed: int | None) -> None:
    """Check that no task or seed of a run is requested for something that is not a run.

    :raises UsageError: one is.
    """
    for flag, value in (("--run-seed", seed), ("--run-task", task)):
        if value is not None:
            raise UsageError(f"{flag} {value}: selects from a run, and {name} is not a run; remove the option")


@frozen
class RunModel:
    """A model of a run: the first finished one that was measured for its task and seed.

    ``name`` is its stage, with the checkpoint if it is one. ``folder`` is where it is in the lab, and ``is_one_of_several`` whether the run
    measured other models.
    """

    task: str
    seed: str
    name: str
    folder: Path
    is_one_of_several: bool

    @property
    def shown(self) -> str:
        """What distinguishes it from the other models of the run; empty if there are none."""
        return f"{self.name}, {self.task}, seed {self.seed}" if self.is_one_of_several else ""


def model_of_run(run: Path, task: str | None = None, seed: int | None = None) -> RunModel:
    """Return the model of a run for a task and seed, by default the first ones, and say which it is if there are several to choose from.

    :raises UsageError: the run measured no such model, or the model has been removed.
    """
    found = [model for model in _models(run) if task in (None, model.task) and (seed is None or model.seed == str(seed))]
    if not found:
        raise UsageError(_no_such_model(run, task, seed))
    first = found[0]
    mirror.fetch(first.folder)
    if not first.folder.is_dir():
        raise UsageError(f"{run}: the model of `{first.name}` is no longer in the lab ({first.folder} is missing)")
    if len({model.folder for model in found}) > 1:
        where = f"{first.task}, seed {first.seed}: {first.folder}"
        progress.say(f"{run} holds several models; using `{first.name}` of {where} (--run-seed and --run-task choose another)")
    return first


def _models(run: Path) -> list[RunModel]:
    """Return the models that a run measured, finished ones first, in the order of its results."""
    lab = lab_of_run(run)
    models = [
        (
            stage.result.get("at", ""),
            RunModel(
                stage.task,
                stage.seed,
                checkpoint_name(stage.result["of"], stage.result.get("at", "")),
                stage_folder(lab, stage.siblings[stage.result["of"]]["key"])
                / checkpoint_folder(stage.siblings[stage.result["of"]].get("model_folder", MODEL), stage.result.get("at", "")),
                is_one_of_several=False,
            ),
        )
        for stage in stage_results(read_results(run / RESULTS))
        if stage.result.get("of") in stage.siblings and stage.name not in augmentation_sources(stage.siblings)
    ]
    ordered = [model for _, model in sorted(models, key=lambda model: model[0] != "")]
    several = len({model.folder for model in ordered}) > 1
    return [evolve(model, is_one_of_several=several) for model in ordered]


def _no_such_model(run: Path, task: str | None, seed: int | None) -> str:
    known = _models(run)
    if not known:
        return f"{run}: the run evaluated no model of its own"
    tasks = list(dict.fromkeys(model.task for model in known))
    if task is not None and task not in tasks:
        return f"{run}: the run measured no model of the task `{task}`{did_you_mean(task, tasks)}"
    seeds = dict.fromkeys(model.seed for model in known if task in (None, model.task))
    known_seeds = f"its seeds are {', '.join(seeds)}" if len(seeds) > 1 else f"its only seed is {next(iter(seeds))}"
    return f"{run}: the run measured no model of seed {seed}; {known_seeds}"
