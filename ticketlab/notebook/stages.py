"""The stages of a run: what they cost, where they are, and whether the run computed them or found them in the lab."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core import files
from ticketlab.lab.layout import LOG, lab_of_run
from ticketlab.lab.open_lab import open_lab
from ticketlab.lab.results import stage_results
from ticketlab.notebook.sizes import StageSizes


@frozen
class StageLine:
    """A stage of a run for a task and seed.

    ``origin`` is ``computed`` (by this run), ``found`` (in the lab), ``same`` (as another stage of the run, whose ``same_as`` it is), or
    ``missing`` if its folder is not in the lab any more. ``seconds`` is what it took to compute.
    """

    task: str
    seed: str
    stage: str
    kind: str
    key: str
    seconds: float | None
    bytes: int
    origin: str
    same_as: str = ""


def stages_of(run: Path, results: Mapping[str, Any]) -> list[StageLine]:
    """Return the stages of a finished run, in the order of its results."""
    lab = lab_of_run(run)
    place = open_lab(lab)
    sizes, computed = StageSizes(lab), _computed_keys(run / LOG)
    lines = []
    for stage in stage_results(results):
        same = [str(part) for part in stage.result.get("same_as", ())]
        origin = "same" if same else "computed" if stage.key in computed else "found"
        if not place.has(stage.key):
            origin = "missing"
        seconds = stage.result.get("cost", {}).get("seconds")
        line = StageLine(
            stage.task, stage.seed, stage.name, stage.kind, stage.key, seconds, sizes.total(stage.key), origin, _same_text(stage.task, same)
        )
        lines.append(line)
    return lines


def _computed_keys(log: Path) -> set[str]:
    """Return the keys of the stages that a run began to compute, according to its log."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    keys = set()
    for line in text.splitlines():
        if line.startswith('{"event": "start"'):
            try:
                keys.add(str(files.parse_json(line)["key"]))
            except (ValueError, KeyError, TypeError):  # a line that a killed process left
                continue
    return keys


def _same_text(task: str, same: list[str]) -> str:
    """Return the stage of another task or seed as text: ``seed 0 draw``."""
    if len(same) != 3:
        return ""
    return f"{'' if same[0] == task else f'{same[0]} '}seed {same[1]} {same[2]}"
