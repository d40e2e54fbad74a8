"""Where a model in a lab comes from, as its runs tell: for the card of an exported model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.export.provenance import Measured, Origin
from ticketlab.lab.lab import Lab
from ticketlab.lab.results import read_results
from ticketlab.recipes import tables
from ticketlab.recipes.recipe import named_checkpoint
from ticketlab.report.notes import notes
from ticketlab.runs.external_inputs import drawn_in
from ticketlab.stages.base import PRETRAINED, TICKET, Input, model_folder
from ticketlab.tasks.trained_on import find
from ticketlab.tickets.ticket import Ticket

SETTINGS = (
    *("ticket", "pruner", "adversary", "objective", "loss", "bias", "teacher", "augment", "mix_ood", "stop", "epochs", "lr"),
    *("sparsity", "heads", "neurons", "scope", "heads_scope", "neurons_scope", "reinit"),
)
"""What a card tells of a stage."""


@frozen
class _Entry:
    """A stage in the results of a run."""

    results: Mapping[str, Any]
    folder: Path
    task: str
    seed: str
    name: str
    stage: Mapping[str, Any]

    @property
    def beside(self) -> Mapping[str, Mapping[str, Any]]:
        """The stages of the same task and seed."""
        found: Mapping[str, Mapping[str, Any]] = self.results["tasks"][self.task][self.seed]
        return found


def origin_of(place: str | Path, ticket: Path | None = None) -> Origin:
    """Return what :func:`_told_by_runs` does, and what is known of the texts that model and ``ticket`` were trained on."""
    known = find(place)
    drawn = Input(str(ticket), is_stage=False, made_in=drawn_in(ticket)).trained_on() if ticket else None
    return evolve(_told_by_runs(place), trained_on=known | drawn if known else drawn)


def _told_by_runs(place: str | Path) -> Origin:
    """Return what the runs of a lab know of a model, the folder of a stage's model or of the stage; of another folder nothing is known.

    Measurements are those of all runs in the lab. A model of the hub is where the exported one comes from.
    """
    if not Path(place).exists():
        return Origin(base_model=str(place))
    folder = Path(place).absolute()
    name, _, at = folder.name.partition("@")
    stage = folder.parent if name == "model" else folder
    root = stage.parent.parent.parent
    if stage.parent.parent.name != "stages" or not (root / "runs").is_dir():
        return Origin()
    entries = list(_entries(root))
    made = next((entry for entry in entries if entry.stage["key"] == stage.name and entry.stage["kind"] in ("train", "search")), None)
    if made is None:
        return Origin()
    ancestors = _ancestors(made)
    return Origin(
        base_model=str(made.results["model"]),
        recipe=str(made.results.get("label", made.results["recipe"])),
        scale=str(made.results["scale"]),
        task=made.task,
        seed=int(made.seed),
        stages=[(name, kind, settings) for name, (kind, settings) in ancestors.items()],
        ticket=_ticket(Lab(root), made, ancestors),
        measured=list(_measured(entries, stage, at if name == "model" else "")),
    )


def _entries(root: Path) -> Iterator[_Entry]:
    """Yield every stage of every finished run, the runs by name; what is damaged is left out."""
    for path in sorted((root / "runs").glob("*/results.json")):
        try:
            results = read_results(path)
        except (OSError, UsageError) as problem:
            progress.warn(f"the model card lacks a run: {problem}")
            continue
        yield from (
            _Entry(results, path.parent, task, seed, name, stage)
            for task, seeds in results["tasks"].items()
            for seed, stages in seeds.items()
            for name, stage in stages.items()
            if {"key", "kind"} <= stage.keys()
        )


def _ancestors(made: _Entry) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return (kind, settings for a card) of the stages that led to a model, itself included, in the order of the recipe."""
    try:
        table = tables.resolve(tables.read(made.folder / "recipe.toml")[1], task=made.task)
    except UsageError:
        return {}
    stages = {name: stage for name, stage in table.items() if isinstance(stage, Mapping) and "kind" in stage}
    wanted = {made.name}
    for name, stage in reversed(stages.items()):
        if name in wanted:
            values = {named_checkpoint(value)[0] for value in stage.values() if isinstance(value, str)}
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
        path = lab.stage(str(made.beside.get(name, {}).get("key"))) / TICKET
        if path.is_file():
            return Ticket.load(path)
    return None


def _measured(entries: list[_Entry], folder: Path, at: str) -> Iterator[Measured]:
    """Yield what was measured of the model of a stage's folder, or of its checkpoint ``at``, each measurement once."""
    seen: set[str] = set()
    places = (folder / model_folder(at), *([] if at else [folder]))
    for entry in entries:
        of = str(entry.stage.get("of", ""))
        inside = entry.beside.get(of, {}).get("key") == folder.name and entry.stage.get("at", "") == at
        if not (inside or (of and Path(of).absolute() in places)) or entry.stage["key"] in seen:
            continue
        seen.add(entry.stage["key"])
        warnings = _warnings(entry)
        if clean := entry.stage.get("clean"):
            yield Measured(entry.task, "no attack", clean["accuracy"], how=_examples(clean), warnings=warnings)
        for name, found in entry.stage.get("ood", {}).items():
            yield Measured(f"{entry.task}, challenge set {name}", "no attack", found["accuracy"], how=_examples(found), warnings=warnings)
        sample = entry.stage.get("sample", {})
        where = f" of {sample['split']}, sample seed {sample['seed']}" if {"split", "seed"} <= sample.keys() else ""
        for name, found in entry.stage.get("attacks", {}).items():
            numbers = {key: found.get(key) for key in ("clean", "aua", "suc", "queries")}
            attacked = f", {found['n'] - found['skipped']:,} attacked" if "skipped" in found else ""
            yield Measured(entry.task, name, **numbers, how=f"{found['n']:,} examples{where}{attacked}", warnings=warnings)


def _examples(found: Mapping[str, Any]) -> str:
    """Say on which examples an accuracy was measured, and what the commonest label alone would get."""
    majority = f"; majority class {100 * found['majority']:.1f} %" if found.get("majority") is not None else ""
    return f"{found['n']:,} examples of {found.get('split', 'test')}{majority}"


def _warnings(entry: _Entry) -> list[str]:
    """Return what the tables of the run say under the numbers of a stage: of its data, its model and itself."""
    about = entry.results.get("data", {})
    sets = {name: about[name] for name in (entry.task, *entry.stage.get("ood", {})) if name in about}
    return notes({"tasks": {entry.task: {entry.seed: {entry.name: entry.stage}}}, "seeds": [entry.seed], "data": sets})
