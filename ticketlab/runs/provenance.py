"""Where a model in a lab comes from, as its runs tell: for the card of an exported model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.export.provenance import Measurement, Provenance
from ticketlab.lab.lab import Lab
from ticketlab.lab.layout import MODEL, RECIPE, RESULTS, TICKET, finished_runs, is_lab, model_folder, stage_folder
from ticketlab.lab.results import TRAININGS, StageResult, read_results, stage_results
from ticketlab.recipes import tables
from ticketlab.recipes.recipe import split_checkpoint
from ticketlab.report.notes import notes
from ticketlab.runs.external_inputs import drawn_in
from ticketlab.stages.base import PRETRAINED, Input
from ticketlab.tasks.trained_on import find
from ticketlab.tickets.ticket import Ticket

SETTINGS = (
    *("ticket", "pruner", "adversary", "objective", "loss", "bias", "teacher", "augment", "mix_ood", "stop", "epochs", "lr"),
    *("sparsity", "heads", "neurons", "scope", "heads_scope", "neurons_scope", "reinit"),
)
"""What a card tells of a stage."""


@frozen
class _Entry:
    """A stage of a run in the lab: the run's directory, all of its results, and those of the stage."""

    folder: Path
    results: Mapping[str, Any]
    stage: StageResult


def provenance_of(place: str | Path, ticket: Path | None = None) -> Provenance:
    """Return what :func:`_told_by_runs` does, and what is known of the texts that model and ``ticket`` were trained on."""
    known = find(place)
    drawn = Input(str(ticket), is_stage=False, made_in=drawn_in(ticket)).trained_on() if ticket else None
    return evolve(_told_by_runs(place), trained_on=known | drawn if known else drawn)


def _told_by_runs(place: str | Path) -> Provenance:
    """Return what the runs of a lab know of a model, the folder of a stage's model or of the stage; of another folder nothing is known.

    Measurements are those of all runs in the lab. A model of the hub is where the exported one comes from.
    """
    if not Path(place).exists():
        return Provenance(base_model=str(place))
    folder = Path(place).absolute()
    name, _, at = folder.name.partition("@")
    stage = folder.parent if name == MODEL else folder
    root = stage.parent.parent.parent
    if stage != stage_folder(root, stage.name) or not is_lab(root):
        return Provenance()
    entries = list(_entries(root))
    made = next((entry for entry in entries if entry.stage.key == stage.name and entry.stage.kind in TRAININGS), None)
    if made is None:
        return Provenance()
    ancestors = _ancestors(made)
    return Provenance(
        base_model=str(made.results["model"]),
        recipe=str(made.results.get("label", made.results["recipe"])),
        scale=str(made.results["scale"]),
        task=made.stage.task,
        seed=int(made.stage.seed),
        stages=[(name, kind, settings) for name, (kind, settings) in ancestors.items()],
        ticket=_ticket(Lab(root), made, ancestors),
        measured=list(_measured(entries, stage, at if name == MODEL else "")),
    )


def _entries(root: Path) -> Iterator[_Entry]:
    """Yield every stage of every finished run, the runs by name; what is damaged is left out."""
    for folder in finished_runs(root):
        try:
            results = read_results(folder / RESULTS)
        except (OSError, UsageError) as problem:
            progress.warn(f"the model card lacks a run: {problem}")
            continue
        yield from (_Entry(folder, results, stage) for stage in stage_results(results))


def _ancestors(made: _Entry) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return (kind, settings for a card) of the stages that led to a model, itself included, in the order of the recipe."""
    try:
        table = tables.resolve(tables.read(made.folder / RECIPE)[1], task=made.stage.task)
    except UsageError:
        return {}
    stages = {name: stage for name, stage in table.items() if isinstance(stage, Mapping) and "kind" in stage}
    wanted = {made.stage.name}
    for name, stage in reversed(stages.items()):
        if name in wanted:
            values = {split_checkpoint(value)[0] for value in stage.values() if isinstance(value, str)}
            wanted |= values & stages.keys()
    return {name: (str(stage["kind"]), _settings(stage)) for name, stage in stages.items() if name in wanted}


def _settings(stage: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: stage[key] for key in SETTINGS if key in stage}
    if stage.get("start") not in (None, PRETRAINED):
        found = {"start": stage["start"], **found}
    plain = {key: value.get("name") if isinstance(value, Mapping) else value for key, value in found.items()}
    if plain.get("objective", "task") != "task":
        plain.pop("loss", None)  # it is the task's
    return {key: value for key, value in plain.items() if value not in (None, "none", "")}


def _ticket(lab: Lab, made: _Entry, ancestors: Mapping[str, tuple[str, Any]]) -> Ticket | None:
    """Return the last ticket that was drawn on the way to a model."""
    for name in reversed([name for name, (kind, _) in ancestors.items() if kind == "draw"]):
        path = lab.stage(str(made.stage.siblings.get(name, {}).get("key"))) / TICKET
        if path.is_file():
            return Ticket.load(path)
    return None


def _measured(entries: list[_Entry], folder: Path, at: str) -> Iterator[Measurement]:
    """Yield what was measured of the model of a stage's folder, or of its checkpoint ``at``, each measurement once."""
    seen: set[str] = set()
    places = (folder / model_folder(at), *([] if at else [folder]))
    for entry in entries:
        stage = entry.stage
        of = str(stage.result.get("of", ""))
        inside = stage.siblings.get(of, {}).get("key") == folder.name and stage.result.get("at", "") == at
        if not (inside or (of and Path(of).absolute() in places)) or stage.key in seen:
            continue
        seen.add(stage.key)
        warnings = _warnings(entry)
        if clean := stage.result.get("clean"):
            yield Measurement(stage.task, "no attack", clean["accuracy"], how=_examples(clean), warnings=warnings)
        for name, found in stage.result.get("ood", {}).items():
            yield Measurement(
                f"{stage.task}, challenge set {name}", "no attack", found["accuracy"], how=_examples(found), warnings=warnings
            )
        sample = stage.result.get("sample", {})
        where = f" of {sample['split']}, sample seed {sample['seed']}" if {"split", "seed"} <= sample.keys() else ""
        for name, found in stage.result.get("attacks", {}).items():
            numbers = {key: found.get(key) for key in ("clean", "aua", "suc", "queries")}
            attacked = f", {found['n'] - found['skipped']:,} attacked" if "skipped" in found else ""
            yield Measurement(stage.task, name, **numbers, how=f"{found['n']:,} examples{where}{attacked}", warnings=warnings)


def _examples(found: Mapping[str, Any]) -> str:
    """Say on which examples an accuracy was measured, and what the commonest label alone would get."""
    majority = f"; majority class {100 * found['majority']:.1f} %" if found.get("majority") is not None else ""
    return f"{found['n']:,} examples of {found.get('split', 'test')}{majority}"


def _warnings(entry: _Entry) -> list[str]:
    """Return what the tables of the run say under the numbers of a stage: of its data, its model and itself."""
    stage, about = entry.stage, entry.results.get("data", {})
    sets = {name: about[name] for name in (stage.task, *stage.result.get("ood", {})) if name in about}
    return notes({"tasks": {stage.task: {stage.seed: {stage.name: stage.result}}}, "seeds": [stage.seed], "data": sets})
