"""The provenance of a model in a lab, from the results of its runs, for the card of an exported model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.core.references import stage_of
from ticketlab.core.settings import build_component
from ticketlab.export.provenance import Measurement, Provenance
from ticketlab.lab import mirror
from ticketlab.lab.lab import Lab
from ticketlab.lab.layout import MODEL, RECIPE, RESULTS, TICKET, finished_runs, is_lab, model_folder, stage_folder
from ticketlab.lab.open_lab import open_lab
from ticketlab.lab.results import StageResult, read_results, stage_results
from ticketlab.recipes import tables
from ticketlab.report.notes import notes
from ticketlab.runs.external_inputs import stage_folder_of_ticket
from ticketlab.stages.base import PRETRAINED, Input
from ticketlab.tasks.trained_on import load_hashes
from ticketlab.tickets.ticket import Ticket

SHOWN_SETTINGS = (
    *("task", "ticket", "pruner", "adversary", "objective", "loss", "bias", "teacher", "augment", "mix_ood", "stop", "epochs", "lr"),
    *("sparsity", "heads", "neurons", "scope", "heads_scope", "neurons_scope", "reinit"),
)
"""The settings of a stage that a card shows."""


@frozen
class _StageOfRun:
    """A stage of a run in the lab: the run's directory, its results, and those of the stage."""

    folder: Path
    results: Mapping[str, Any]
    stage: StageResult


def provenance_of(place: str | Path, ticket: Path | None = None) -> Provenance:
    """Return the provenance of the model at ``place``, with the known texts that the model and ``ticket`` were trained on.

    Nothing but these texts is known about a folder outside a lab. A model on the hub is the base model of its export.
    """
    known = load_hashes(place)
    drawn = Input(str(ticket), is_stage=False, made_in=stage_folder_of_ticket(ticket)).trained_on() if ticket else None
    return evolve(_recorded_in_lab(place), trained_on=known | drawn if known else drawn)


def _recorded_in_lab(place: str | Path) -> Provenance:
    """Return what a lab records about a model; ``place`` is the folder of the model or of its stage.

    Measurements are from all runs in the lab.
    """
    if not Path(place).exists():
        return Provenance(base_model=str(place))
    folder = Path(place).absolute()
    name, _, at = folder.name.partition("@")
    stage = folder.parent if name == MODEL else folder
    root = stage.parent.parent.parent
    if stage != stage_folder(root, stage.name) or not is_lab(root):
        return Provenance()
    entries = list(_stages_of_runs(root))
    producer = next((entry for entry in entries if entry.stage.key == stage.name and entry.stage.works_as("train", "search")), None)
    if producer is None:
        return Provenance()
    ancestors = _ancestors(producer)
    return Provenance(
        base_model=str(producer.results["model"]),
        recipe=str(producer.results.get("label", producer.results["recipe"])),
        scale=str(producer.results["scale"]),
        task=producer.stage.data,
        seed=int(producer.stage.seed),
        stages=[(name, kind, settings) for name, (kind, settings) in ancestors.items()],
        ticket=_ticket(open_lab(root), producer, ancestors),
        measurements=list(_measurements(entries, stage, at if name == MODEL else "")),
    )


def _stages_of_runs(root: Path) -> Iterator[_StageOfRun]:
    """Yield every stage of every finished run, ordered by the runs' names. Damaged runs are skipped with a warning."""
    for folder in finished_runs(root):
        try:
            results = read_results(folder / RESULTS)
        except (OSError, UsageError) as problem:
            progress.warn(f"a run is missing from the model card: {problem}")
            continue
        yield from (_StageOfRun(folder, results, stage) for stage in stage_results(results))


def _ancestors(producer: _StageOfRun) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return (kind, shown settings) of the stages that led to a model, including its own, in the order of the recipe."""
    try:
        table = tables.resolve(tables.read(producer.folder / RECIPE)[1], task=producer.stage.task)
    except UsageError:
        return {}
    stages = {name: stage for name, stage in table.items() if isinstance(stage, Mapping) and "kind" in stage}
    wanted = {producer.stage.name}
    for name, stage in reversed(stages.items()):
        if name in wanted:
            values = {stage_of(value) for value in stage.values() if isinstance(value, str)}
            wanted |= values & stages.keys()
    return {name: (str(stage["kind"]), _shown_settings(stage)) for name, stage in stages.items() if name in wanted}


def _shown_settings(stage: Mapping[str, Any]) -> dict[str, Any]:
    settings = {key: stage[key] for key in SHOWN_SETTINGS if key in stage}
    if stage.get("start") not in (None, PRETRAINED):
        settings = {"start": stage["start"], **settings}
    plain = {key: _label(key, value) if isinstance(value, Mapping) else value for key, value in settings.items()}
    if plain.get("objective", "task") != "task":
        plain.pop("loss", None)  # only the task objective uses it
    return {key: value for key, value in plain.items() if value not in (None, "none", "")}


def _label(setting: str, value: Mapping[str, Any]) -> str:
    """Return the label of a component: of a task the name that it has in results."""
    return build_component("task", value, setting).label if setting == "task" else str(value.get("name"))


def _ticket(lab: Lab, producer: _StageOfRun, ancestors: Mapping[str, tuple[str, Any]]) -> Ticket | None:
    """Return the last ticket drawn in the stages that led to a model."""
    for name in reversed([name for name, (kind, _) in ancestors.items() if kind == "draw"]):
        path = lab.stage(str(producer.stage.siblings.get(name, {}).get("key"))) / TICKET
        mirror.fetch(path)
        if path.is_file():
            return Ticket.load(path)
    return None


def _measurements(entries: list[_StageOfRun], folder: Path, at: str) -> Iterator[Measurement]:
    """Yield the measurements of the model in a stage's folder, or of its checkpoint ``at``, without repetitions."""
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
            yield Measurement(stage.data, "no attack", clean["accuracy"], examples=_examples(clean), warnings=warnings)
        for name, found in stage.result.get("ood", {}).items():
            yield Measurement(
                f"{stage.data}, challenge set {name}", "no attack", found["accuracy"], examples=_examples(found), warnings=warnings
            )
        sample = stage.result.get("sample", {})
        where = f" of {sample['split']}, sample seed {sample['seed']}" if {"split", "seed"} <= sample.keys() else ""
        for name, found in stage.result.get("attacks", {}).items():
            numbers = {key: found.get(key) for key in ("clean", "aua", "suc", "queries")}
            attacked = f", {found['n'] - found['skipped']:,} attacked" if "skipped" in found else ""
            yield Measurement(stage.data, name, **numbers, examples=f"{found['n']:,} examples{where}{attacked}", warnings=warnings)


def _examples(found: Mapping[str, Any]) -> str:
    """Describe the examples behind an accuracy, with the accuracy of always predicting the most common label."""
    majority = f"; majority class {100 * found['majority']:.1f} %" if found.get("majority") is not None else ""
    return f"{found['n']:,} examples of {found.get('split', 'test')}{majority}"


def _warnings(entry: _StageOfRun) -> list[str]:
    """Return the warnings that the run's tables show for a stage, about its data, its model and itself."""
    stage, about = entry.stage, entry.results.get("data", {})
    sets = {name: about[name] for name in (stage.data, *stage.result.get("ood", {})) if name in about}
    return notes({"tasks": {stage.task: {stage.seed: {stage.name: stage.result}}}, "seeds": [stage.seed], "data": sets})
