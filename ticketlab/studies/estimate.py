"""Estimates the time and disk of a plan from what the runs of a lab have measured."""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core import quantities
from ticketlab.core.errors import TicketlabError
from ticketlab.core.formatting import counted
from ticketlab.lab.layout import RECIPE, RESULTS, finished_runs, stage_folder
from ticketlab.lab.results import TRAININGS, StageResult, read_results, stage_results
from ticketlab.recipes.tables import text_of
from ticketlab.stages.base import Stage
from ticketlab.studies.plan import Plan, PlannedStage

MAX_RUNS = 200
"""The number of runs, the latest, that are read."""
Kind = tuple[str, ...]
"""What stages are alike: their kind, the model and the name of a search's pruner or of an attack."""


@frozen
class Estimate:
    """The expected ``seconds`` and ``bytes`` of the stages that the lab lacks.

    ``stages`` is their number, ``measured`` how many of them are like a stage that was measured, and ``unknown`` what the others are.
    A stop rule may end a search earlier than expected.
    """

    stages: int
    measured: int
    seconds: float
    bytes: int
    unknown: tuple[str, ...]


@frozen
class _Measured:
    seconds: float
    units: float
    bytes: int


def estimate(plan: Plan) -> Estimate:
    """Return the estimate of a plan."""
    missing = [planned for planned in plan.stages.values() if not plan.lab.has(planned.key)]
    measured = _measurements(plan.lab.root)
    seconds, size, unknown, known = 0.0, 0, dict[str, None](), 0
    for planned in missing:
        parts = list(parts_of(plan, planned))
        found = [(measured[kind], units) for kind, units in parts if kind in measured]
        seconds += sum(statistics.median(one.seconds / one.units for one in like) * units for like, units in found)
        size += round(sum(statistics.median(one.bytes for one in like) for like, _ in found[:1]))
        known += len(found) == len(parts)
        unknown |= {" ".join(kind): None for kind, _ in parts if kind not in measured}
    return Estimate(len(missing), known, seconds, size, tuple(unknown))


def parts_of(plan: Plan, planned: PlannedStage) -> Iterator[tuple[Kind, float]]:
    """Yield the kinds of work of a planned stage, with the amount of each."""
    inputs = plan.cells[planned.cell].inputs
    assert inputs is not None
    stage, model = planned.stage, inputs.recipe.model
    rows = {split: len(examples) for split, examples in inputs.data[planned.task.label].splits.items()}
    if stage.name in TRAININGS:
        pruner = getattr(stage, "pruner", None)
        kind = (stage.name, model) if pruner is None else (stage.name, model, pruner.name)
        yield kind, 1 if pruner is not None and not pruner.searches else _passes(stage, rows.get("train", 0))
    elif stage.name == "evaluate":
        yield (stage.name, model), _rows(rows, stage) + sum(len(data.splits.get("test", ())) for data in inputs.sets.values())
    elif stage.name == "attack":
        most = _rows(rows, stage)
        number = getattr(stage, "examples", None)
        for attack in getattr(stage, "attacks", ()):
            yield (stage.name, model, attack.label), min(number, most) if number and most else number or most
    else:
        yield (stage.name, model), 1


def _passes(stage: Stage, rows: int) -> float:
    """Return how many times a training passes an example through the model, at most."""
    return max(1.0, float(getattr(stage, "epochs", 1)) * rows) * max(1, int(getattr(getattr(stage, "adversary", None), "steps", 1)))


def _rows(rows: Mapping[str, int], stage: Stage) -> int:
    split = getattr(stage, "split", "test")
    return sum(rows.values()) if split == "all" else rows.get(split, 0)


def _measurements(lab: Path) -> dict[Kind, list[_Measured]]:
    """Return the measured stages of the latest runs by what they are alike in, each stage once."""
    found: dict[Kind, list[_Measured]] = {}
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
) -> Iterator[tuple[Kind, _Measured]]:
    seconds, model = float(stage.result.get("cost", {}).get("seconds", 0.0)), str(results["model"])
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
    training = stage.result.get(stage.kind, {}) if stage.kind in TRAININGS else {}
    if stage.kind in TRAININGS:
        adversary = settings.get("adversary", {})
        passes = adversary.get("steps", 1) if isinstance(adversary, Mapping) else 1
        units = training.get("steps", 0) * settings.get("batch_size", 32) * max(1, passes)  # 0: it scores without training
        pruner = settings.get("pruner", "")
        of = (str(pruner["name"] if isinstance(pruner, Mapping) else pruner),) if stage.kind == "search" else ()
        yield (stage.kind, model, *of), _Measured(seconds, max(1, units), size)
        return
    elif stage.kind == "evaluate":
        units = sum(found["n"] for found in (stage.result["clean"], *stage.result.get("ood", {}).values()))
    elif stage.kind == "attack":
        attacks = stage.result["attacks"]
        for name in attacks:
            yield (stage.kind, model, name), _Measured(seconds / len(attacks), max(1, stage.result["sample"]["size"]), size)
        return
    else:
        units = 1
    yield (stage.kind, model), _Measured(seconds, max(1, units), size)


def describe_estimate(found: Estimate) -> list[str]:
    """Return the lines that describe an estimate."""
    if not found.stages:
        return ["every stage is in the lab: nothing is to be computed"]
    lines = [f"{counted(found.stages, 'stage')} to compute"]
    if found.measured:
        of = "" if found.measured == found.stages else f" for the {found.measured} of them that are like measured ones"
        lines[0] += f": about {duration(found.seconds)} and {quantities.size(found.bytes)} of disk{of}, going by what this lab has measured"
    if found.unknown:
        lines.append(f"no estimate for {', '.join(found.unknown)}: the lab has not measured any")
    return lines


def duration(seconds: float) -> str:
    """Return a duration as text: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
