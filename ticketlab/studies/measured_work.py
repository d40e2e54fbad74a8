"""The seconds, work and disk of the stages that the latest runs of a lab have computed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core.errors import TicketlabError
from ticketlab.lab.layout import RECIPE, RESULTS, finished_runs, stage_folder
from ticketlab.lab.results import TRAININGS, StageResult, read_results, stage_results
from ticketlab.recipes.tables import text_of
from ticketlab.studies.planned_work import Kind

MAX_RUNS = 200
"""The number of runs, the latest, that are read."""


@frozen
class MeasuredWork:
    """What a stage took for work of one kind: ``units`` are those of :func:`ticketlab.studies.planned_work.parts_of`."""

    seconds: float
    units: float
    bytes: int


def measured_work(lab: Path) -> dict[Kind, list[MeasuredWork]]:
    """Return the measured stages of the latest runs by what they are alike in, each stage once."""
    found: dict[Kind, list[MeasuredWork]] = {}
    seen: set[str] = set()
    latest = sorted(finished_runs(lab), key=lambda run: (run / RESULTS).stat().st_mtime_ns, reverse=True)[:MAX_RUNS]
    for run in latest:
        try:
            results, recipe = read_results(run / RESULTS), tomllib.loads(text_of(run / RECIPE))
        except (TicketlabError, OSError, ValueError):
            continue
        for stage in stage_results(results):
            if stage.key not in seen:
                seen.add(stage.key)
                for kind, one in _measured(stage, results, recipe.get(stage.name, {}), stage_folder(lab, stage.key)):
                    found.setdefault(kind, []).append(one)
    return found


def _measured(
    stage: StageResult, results: Mapping[str, Any], settings: Mapping[str, Any], folder: Path
) -> Iterator[tuple[Kind, MeasuredWork]]:
    seconds, model = float(stage.result.get("cost", {}).get("seconds", 0.0)), str(results["model"])
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
    if stage.kind == "attack":
        attacks = stage.result["attacks"]
        for name in attacks:
            yield (stage.kind, model, name), MeasuredWork(seconds / len(attacks), max(1, stage.result["sample"]["size"]), size)
        return
    units, of = 1, tuple[str, ...]()
    if stage.kind in TRAININGS:
        adversary, pruner = settings.get("adversary", {}), settings.get("pruner", "")
        passes = adversary.get("steps", 1) if isinstance(adversary, Mapping) else 1
        steps = stage.result.get(stage.kind, {}).get("steps", 0)  # 0: it scores without training
        units = steps * settings.get("batch_size", 32) * max(1, passes)
        of = (str(pruner["name"] if isinstance(pruner, Mapping) else pruner),) if stage.kind == "search" else ()
    elif stage.kind == "evaluate":
        units = sum(found["n"] for found in (stage.result["clean"], *stage.result.get("ood", {}).values()))
    yield (stage.kind, model, *of), MeasuredWork(seconds, max(1, units), size)
