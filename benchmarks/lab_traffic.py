"""What a stage costs the file system of the lab: the bytes that it writes, and the operations on files of the lab.

    python benchmarks/lab_traffic.py [--model demo] [--rows 64]

A study of two cells is computed in this process. Operations are counted by Python's audit events and by wrapping os.stat. Bytes are those
in the folder of each kind of stage when it is finished, and those of its checkpoint, which is removed then.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

from ticketlab.core import files, progress
from ticketlab.runs.stage_runner import StageRunner
from ticketlab.studies.read_definition import study_of
from ticketlab.studies.study import run_study

EVENTS = {
    "open": "open", "os.listdir": "list", "os.scandir": "list", "os.mkdir": "make folder", "os.rmdir": "remove folder",
    "os.rename": "rename", "os.remove": "remove", "os.utime": "set time",
}  # fmt: skip
OTHER = "driver"
TRAININGS = ("finetune", "search", "retrain")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--checkpoints", action="store_true", help="write a checkpoint after each step, to measure its size")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, progress.silent():
        sys.stdout.write(
            json.dumps(measured(Path(folder) / "lab", options.model, options.rows, checkpoints=options.checkpoints), indent=2) + "\n"
        )


def measured(lab: Path, model: str, rows: int, *, checkpoints: bool) -> dict[str, Any]:
    """Return the bytes, checkpoints and operations by kind of stage, and the operations that belong to no stage."""
    counts: Counter[tuple[str, str]] = Counter()
    number: Counter[str] = Counter()
    sizes: dict[str, int] = {}
    current = [OTHER]
    stat, run, write = os.stat, StageRunner.run, files.write_atomic

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        name = EVENTS.get(event)
        if name is not None and str(arguments[0]).startswith(str(lab)):
            counts[current[0], name] += 1

    def counted_stat(path: Any, *more: Any, **options: Any) -> os.stat_result:
        if not isinstance(path, int) and str(path).startswith(str(lab)):
            counts[current[0], "stat"] += 1
        return stat(path, *more, **options)

    def counted_run(self: StageRunner, name: str, stage: Any, *arguments: Any) -> Any:
        current[0] = stage.name if self.resources_checked else OTHER  # the driver reads finished stages for the run of a cell
        number[stage.name] += self.resources_checked
        try:
            return run(self, name, stage, *arguments)
        finally:
            current[0] = OTHER

    def noted_write(path: Path, writes: Any) -> None:
        write(path, writes)
        if path.name == "checkpoint.safetensors":
            sizes[current[0]] = max(sizes.get(current[0], 0), stat(path).st_size)

    study = study_of(
        "traffic",
        {
            "recipes": ["robust-ticket"],
            "tasks": [{"name": "demo", "rows": rows, "dev_rows": 16, "test_rows": 64}],
            "set": {"model": model, "max_length": 48, "precision": "fp32", "attack": ["deepwordbug"], "n": 8, "epochs": 1}
            | {f"{stage}.checkpoint_seconds": 0 for stage in TRAININGS if checkpoints},
            "vary": {"sparsity": [0.3, 0.5]},
        },
        scale="small",
    )
    sys.addaudithook(count)
    with (
        mock.patch.object(os, "stat", counted_stat),
        mock.patch.object(StageRunner, "run", counted_run),
        mock.patch.object(files, "write_atomic", noted_write),
    ):
        done = run_study(study, lab)
    assert not done.failed, done.failed
    stages: dict[str, Any] = {}
    for entry in files.read_json(done.directory / "plan.json")["stages"]:
        kind, place = entry["kind"], lab / "stages" / entry["key"][:2] / entry["key"]
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        stages.setdefault(kind, {"stages": 0, "bytes": 0})
        stages[kind]["stages"] += 1
        stages[kind]["bytes"] = max(stages[kind]["bytes"], size)
        stages[kind]["result_bytes"] = (place / "result.json").stat().st_size
        stages[kind] |= {"checkpoint_bytes": sizes[kind]} if kind in sizes else {}
    for kind, found in stages.items():
        of_kind = {name: round(value / number[kind], 1) for (of, name), value in sorted(counts.items()) if of == kind}
        found["operations"] = {"all": round(sum(of_kind.values())), **of_kind}
    of_driver = {name: value for (of, name), value in sorted(counts.items()) if of == OTHER}
    total = sum(found["stages"] for found in stages.values())
    return {"stages": stages, "driver": {"operations_per_stage": round(sum(of_driver.values()) / total), **of_driver}}


if __name__ == "__main__":
    main()
