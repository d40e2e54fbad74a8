"""What a study costs: its distinct stages, the planning of many cells, and the report of a finished study.

``python benchmarks/study.py`` runs a study of 12 cells with a tiny model, computes the same stages once more without a study, and compares
the times of the stages with that of the study; plans a study of 1,000 cells; and makes the page of one with 100 cells.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ticketlab.core import progress
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.studies.definition import Study
from ticketlab.studies.plan import plan_study
from ticketlab.studies.read_definition import study_of
from ticketlab.studies.study import run_study
from ticketlab.testing.models.tiny import tiny_model

TASK = {"name": "demo", "rows": 1200, "dev_rows": 50, "test_rows": 100}
SETTINGS = {"max_length": 48, "precision": "fp32", "attack": ["deepwordbug"], "n": 20, "search.epochs": 2}


def defined(name: str, model: Path, vary: dict[str, Any]) -> Study:
    """Return a study of the recipe robust-ticket on a small task."""
    table = {"recipes": ["robust-ticket"], "tasks": [TASK], "set": {**SETTINGS, "model": str(model)}, "vary": vary}
    return study_of(name, table, scale="small")


def study_seconds(folder: Path, model: Path) -> tuple[float, float, int, int]:
    """Return the seconds of a study after planning, the seconds of its stages, and how many stages there are with and without sharing."""
    vary = {"pruner": ["hard-concrete", "magnitude"], "adversary": ["none", "freelb"], "sparsity": [0.1, 0.3, 0.5]}
    study = study_of(
        "bench", {"recipes": ["robust-ticket"], "tasks": [TASK], "set": {**SETTINGS, "model": str(model)}, "vary": vary}, scale="small"
    )
    plan = plan_study(study, folder / "lab")
    import_textattack()  # seconds that every process with an attack takes once
    started = time.perf_counter()
    done = run_study(study, folder / "lab")
    seconds = time.perf_counter() - started
    lines = [json.loads(line) for line in (done.directory / "log.jsonl").read_text().splitlines()]
    return seconds, sum(line["cost"]["seconds"] for line in lines if line["event"] == "finished"), len(plan.stages), plan.users()


def planning_seconds(folder: Path, model: Path) -> tuple[float, int, int]:
    """Return the seconds that planning takes, and the numbers of cells and distinct stages."""
    vary = {
        "pruner": ["hard-concrete", "magnitude"],
        "sparsity": "0.05:0.95:0.1",
        "search.adversary.steps": [1, 2, 3, 4, 5],
        "retrain.lr": [number * 1e-5 for number in range(1, 11)],
    }
    study = study_of(
        "many", {"recipes": ["robust-ticket"], "tasks": [TASK], "set": {**SETTINGS, "model": str(model)}, "vary": vary}, scale="small"
    )
    started = time.perf_counter()
    plan = plan_study(study, folder / "lab")
    return time.perf_counter() - started, len(plan.cells), len(plan.stages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["study", "plan"], help="measure one of them")
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory() as name, progress.silent():
        folder = Path(name)
        model = tiny_model("bert", folder / "tiny")
        if only != "plan":
            seconds, stages, distinct, uses = study_seconds(folder, model)
            share = 100 * (seconds - stages) / stages
            sys.stdout.write(f"study: {seconds:.1f} s; its {distinct} stages ({uses} without sharing): {stages:.1f} s; {share:+.1f} %\n")
        if only != "study":
            seconds, cells, stages_planned = planning_seconds(folder, model)
            sys.stdout.write(f"plan of {cells:,} cells and {stages_planned:,} distinct stages: {seconds:.1f} s\n")


if __name__ == "__main__":
    main()
