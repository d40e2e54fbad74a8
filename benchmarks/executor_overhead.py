"""What an executor costs: the time per stage that is not the stage's own, and the speed-up of two workers over one.

    python benchmarks/executor_overhead.py [--executors local,local-2,ray] [--stages 40] [--repeats 3]
    OMP_NUM_THREADS=1 python benchmarks/executor_overhead.py --speed-up [--minutes 1] [--executors local,ray]

The overhead is measured with a study of draws, which take milliseconds, from the end of the tenth stage to that of the last one, so that
the start of workers or of a cluster is not included. It is the time of a worker per stage that is not the stage's own, and includes writing
the run of each cell. `local` computes in the process of the driver, `local-2` in two worker processes, `ray` in two workers of a cluster
that is made for the occasion.

The speed-up is that of a study of eight trainings with one thread each, with the start of the workers and without it. The latter is from
the end of the first trainings, one for each worker, to that of the last one. Both need two idle cores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from ticketlab.core import progress
from ticketlab.runs.log import LogFile
from ticketlab.studies.definition import Study
from ticketlab.studies.read_definition import study_of
from ticketlab.studies.study import build_executor, run_study
from ticketlab.testing.models.tiny import tiny_model

EXECUTORS: Mapping[str, tuple[Any, int]] = {
    "local": ("local", 1),
    "local-2": ("local", 2),
    "ray": ("ray", 2),
}
"""The executors, and how many stages each computes at a time."""
FIRST = 10
"""The number of stages before the overhead is measured."""
TASK = {"name": "demo", "rows": 256, "dev_rows": 8, "test_rows": 8}


def of_draws(model: Path, cells: int) -> Study:
    """Return a study of as many cells, each of which adds a draw to what they share."""
    settings = {"model": str(model), "max_length": 48, "precision": "fp32", "search.start": "pretrained", "pruner": "random"}
    sparsities = [round(0.01 + number / (2 * cells), 4) for number in range(cells)]
    table = {"recipes": ["robust-ticket"], "until": "draw", "tasks": [TASK], "vary": {"sparsity": sparsities}, "set": settings}
    return study_of(f"draws-{cells}", table, scale="small")


def of_trainings(model: Path, epochs: float) -> Study:
    """Return a study of eight equal trainings that share nothing."""
    settings = {"model": str(model), "max_length": 48, "precision": "fp32", "attack": "none", "finetune.epochs": epochs}
    table = {"recipes": ["fine-tune"], "tasks": [TASK], "vary": {"finetune.lr": [number * 1e-5 for number in range(1, 9)]}, "set": settings}
    return study_of("trainings", table, scale="small")


def run(study: Study, lab: Path, executor: str, jobs: int) -> tuple[float, list[tuple[float, float]]]:
    """Return the seconds of a study, and when each of its stages was reported as finished, with its own seconds."""
    ends: list[tuple[float, float]] = []
    write = LogFile.__call__

    def noting(self: LogFile, record: Mapping[str, Any]) -> None:
        write(self, record)
        if record["event"] == "finished":
            ends.append((time.perf_counter(), float(record["cost"]["seconds"])))

    started = time.perf_counter()
    with mock.patch.object(LogFile, "__call__", noting):
        done = run_study(study, lab, jobs=jobs, executor=build_executor(executor))
    assert not done.failed, done.failed
    return time.perf_counter() - started, ends


def overhead(name: str, model: Path, folder: Path, stages: int) -> float:
    """Return the seconds of a worker per stage that are not the stage's own."""
    executor, jobs = EXECUTORS[name]
    _, ends = run(of_draws(model, FIRST + stages), folder / name, executor, jobs)
    measured = ends[FIRST:]
    return (jobs * (ends[-1][0] - ends[FIRST - 1][0]) - sum(seconds for _, seconds in measured)) / len(measured)


def measured_overheads(names: list[str], model: Path, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return the overhead of each executor, measured in turn: the least, because other load on the machine only adds to it, and all."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(options.repeats):
        for name in names:
            found[name].append(overhead(name, model, folder / str(turn), options.stages))
    return {name: {"seconds_per_stage": min(values), "all": values} for name, values in found.items()}


def measured_speed_ups(names: list[str], model: Path, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return the speed-up of two workers over one worker for each executor, measured in turn."""
    trial = run(of_trainings(model, 1.0), folder / "trial", "local", 1)
    epochs = float(max(1, round(options.minutes * 60 / sum(seconds for _, seconds in trial[1]))))
    study, found = of_trainings(model, epochs), {name: [] for name in names}
    for turn in range(options.repeats):
        one, ends_of_one = run(study, folder / f"one-{turn}", "local", 1)
        for name in names:
            two, ends_of_two = run(study, folder / f"{name}-{turn}", EXECUTORS[name][0], 2)
            without_start = seconds_per_stage(ends_of_one, 1) / seconds_per_stage(ends_of_two, 2)
            found[name].append({"one_worker_seconds": one, "two_workers_seconds": two, "speed_up_without_start": without_start})
    return {name: summary(values) for name, values in found.items()}


def seconds_per_stage(ends: list[tuple[float, float]], workers: int) -> float:
    """Return the seconds per stage after the first one of each worker. ``ends`` are also those of short stages, which count little."""
    trainings = [end for end, seconds in ends if seconds > statistics.mean(own for _, own in ends)]
    return (trainings[-1] - trainings[workers - 1]) / (len(trainings) - workers)


def summary(values: list[dict[str, float]]) -> dict[str, Any]:
    """Return the medians of repeated measurements, and all of them."""
    return {
        "speed_up": statistics.median(value["one_worker_seconds"] / value["two_workers_seconds"] for value in values),
        "speed_up_without_start": statistics.median(value["speed_up_without_start"] for value in values),
        "all": values,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executors", help="by default all of them, and with --speed-up local and ray")
    parser.add_argument("--stages", type=int, default=40, help="stages to measure")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--speed-up", action="store_true", help="measure the speed-up of two workers instead")
    parser.add_argument("--minutes", type=float, default=1.0, help="about how long one worker computes for the speed-up")
    options = parser.parse_args()
    names = options.executors.split(",") if options.executors else ["local", "ray"] if options.speed_up else list(EXECUTORS)
    if unknown := [name for name in names if name not in EXECUTORS]:
        parser.error(f"--executors {unknown[0]}: choose from {', '.join(EXECUTORS)}")
    torch.set_num_threads(1 if options.speed_up else 2)
    with tempfile.TemporaryDirectory() as name, progress.silent():
        folder = Path(name)
        model = tiny_model("bert", folder / "tiny")
        measure = measured_speed_ups if options.speed_up else measured_overheads
        found = measure(names, model, folder, options)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
