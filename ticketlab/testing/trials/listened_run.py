"""Runs that listeners of plugins hear about: one that computes everything, one that finds it in the lab, and one that fails."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.lab.layout import LOG, RESULT
from ticketlab.recipes.recipe import Recipe, build_recipe
from ticketlab.runs.run import run
from ticketlab.testing.trials.recorded_run import Outcome
from ticketlab.testing.trials.stage_run import hashes_in, is_cost
from ticketlab.testing.trials.workspace import LENGTH, Workspace

STAGES: Mapping[str, Mapping[str, Any]] = {
    "finetune": {"kind": "train", "epochs": 2, "lr": 1e-3, "batch_size": 8},
    "evaluate": {"kind": "evaluate", "model": "finetune"},
}


class Stopped(Exception):
    """Ends a run before a stage."""


@frozen
class HeardRuns:
    """What the runs left behind: the results of the first and the second, the records of the logs, and the hashes of the stages' files."""

    results: Mapping[str, Any]
    files: Mapping[str, str]

    def difference(self, other: HeardRuns) -> str:
        """Return what differs in a few words; empty if nothing does."""
        return Outcome(self.results, self.files, (), 0).difference(Outcome(other.results, other.files, (), 0))


def listened_run(workspace: Workspace, lab: Path) -> HeardRuns:
    """Run a recipe in a new lab, run it again, and run it with another seed until it fails before its last stage."""
    done = run(_recipe(workspace, 0), lab)
    log = [json.loads(line) for line in (done.directory / LOG).read_text(encoding="utf-8").splitlines()]
    again = run(_recipe(workspace, 0), lab)
    with contextlib.suppress(Stopped):
        run(_recipe(workspace, 1), lab, starting=_stop)
    files = {name: digest for name, digest in hashes_in(lab / "stages").items() if Path(name).name != RESULT}
    return HeardRuns({"first": _plain(done.results), "again": _plain(again.results), "log": _plain(log)}, files)


def _recipe(workspace: Workspace, seed: int) -> Recipe:
    head = {"model": str(workspace.model()), "max_length": LENGTH, "precision": "fp32", "seeds": [seed], "tasks": [workspace.task()]}
    return build_recipe("heard", {**STAGES, **head})


def _stop(task: str, stage: str, key: str) -> None:
    if stage == "evaluate":
        raise Stopped(stage)


def _plain(value: Any) -> Any:
    """Return a value without costs and times."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items() if not is_cost(name) and name != "time"}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value
