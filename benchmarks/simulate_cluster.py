"""Simulates a study of 10,000 stages on a cluster of 100 workers whose nodes fail: what the driver costs, and how long the study takes.

    python benchmarks/simulate_cluster.py [--stages 10000] [--workers 100] [--failures 24] [--parts 100]

The plan, the schedule and the execution are the real ones. Only the stages are not computed: their durations are drawn at random and pass
on a clock of the simulation, on which nodes of ``--per-node`` workers fail. A stage that was running there is started again from its last
checkpoint, as the executor's ``retries`` say. The makespan is compared with its lower bound: the sum of all durations divided by the number
of workers, or the longest chain of stages if that is longer.

``--parts`` also simulates a job array of as many parts of one stage at a time each, which is divided by the plan alone.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from attrs import define, field, frozen

from ticketlab.core import progress
from ticketlab.executors.base import Executor, ExecutorRun, Outcome, Receive, Session, Work, WorkResources
from ticketlab.studies import execute
from ticketlab.studies.division import divide, only_units
from ticketlab.studies.plan import Plan, plan_study
from ticketlab.studies.read_definition import study_of
from ticketlab.studies.schedule import StageScheduler
from ticketlab.testing.models.tiny import tiny_model

MINUTES = {"finetune": 30.0, "search": 60.0, "draw": 0.1, "retrain": 40.0, "evaluate": 1.0, "attack": 30.0}
"""Median durations, about those of BERT-base on SST-2 with one GPU per worker. Each varies by a factor of about 1.5."""
SPREAD = 0.4
"""The standard deviation of the logarithm of a duration."""
CHECKPOINT = 5.0
"""Minutes between two checkpoints of a stage."""
START = 0.5
"""Minutes until a stage that is started again computes."""
DOWN = 10.0
"""Minutes until a node that has failed is back."""


@frozen
class Durations:
    """The duration of each stage in minutes, drawn by its key."""

    plan: Plan
    seed: int

    def of(self, key: str) -> float:
        median = MINUTES[self.plan.stages[key].name]
        return median * math.exp(random.Random(f"{self.seed} {key}").gauss(0, SPREAD))

    def total(self) -> float:
        return sum(map(self.of, self.plan.stages))

    def longest_chain(self) -> float:
        ends: dict[str, float] = {}
        for key, planned in self.plan.stages.items():
            ends[key] = self.of(key) + max((ends[need] for need in planned.needs), default=0.0)
        return max(ends.values())


@define
class Cluster(ExecutorRun):
    """Nodes of workers that compute nothing, on a clock of their own in minutes."""

    durations: Durations
    nodes: int
    per_node: int
    hours_between_failures: float
    seed: int
    now: float = 0.0
    lost: int = 0
    failures: int = 0
    busy: float = 0.0
    _running: dict[str, tuple[int, float]] = field(factory=dict)
    """The node and the start of each stage that runs, by key."""
    _left: dict[str, float] = field(factory=dict)
    """The minutes that are left of a stage that was lost."""
    _events: list[tuple[float, int, str, Any]] = field(factory=list)
    _load: list[int] = field(init=False)
    _down: set[int] = field(factory=set)
    _outcomes: list[Outcome] = field(factory=list)
    _random: random.Random = field(init=False)
    _number: int = 0

    def __attrs_post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._load = [0] * self.nodes
        for node in range(self.nodes):
            self._fail_later(node)

    def accepts(self, resources: WorkResources) -> bool:
        return self._free() is not None

    def start(self, work: Work) -> None:
        node = self._free()
        assert node is not None
        minutes = self._left.get(work.key, self.durations.of(work.key)) + (START if work.key in self._left else 0.0)
        self._running[work.key] = node, self.now
        self._load[node] += 1
        self._at(self.now + minutes, "end", (work.key, self.now))

    def wait(self, timeout: float | None = None) -> Outcome | None:
        while not self._outcomes:
            self.now, _, kind, about = heapq.heappop(self._events)
            if kind == "end":
                self._end(*about)
            elif kind == "fail":
                self._fail(about)
            else:
                self._down.discard(about)
                self._fail_later(about)
                return None  # there is room for a stage now
        return self._outcomes.pop()

    def close(self) -> None:
        self._events.clear()

    def _free(self) -> int | None:
        nodes = (node for node in range(self.nodes) if node not in self._down and self._load[node] < self.per_node)
        return min(nodes, key=self._load.__getitem__, default=None)

    def _end(self, key: str, started: float) -> None:
        if self._running.get(key, (0, -1.0))[1] != started:
            return  # it was lost in the meantime
        node, _ = self._running.pop(key)
        self._load[node] -= 1
        self.busy += self.now - started
        self._outcomes.append(Outcome(key))

    def _fail(self, node: int) -> None:
        self.failures += 1
        self._down.add(node)
        for key in [key for key, (of, _) in self._running.items() if of == node]:
            _, started = self._running.pop(key)
            whole = self._left.get(key, self.durations.of(key))
            done = max(0.0, self.now - started - (START if key in self._left else 0.0))
            self._left[key] = whole - math.floor(done / CHECKPOINT) * CHECKPOINT
            self.busy += self.now - started
            self.lost += 1
            self._outcomes.append(Outcome(key, error="the node is gone", lost=True))
        self._load[node] = 0
        self._at(self.now + DOWN, "up", node)

    def _fail_later(self, node: int) -> None:
        if self.hours_between_failures:
            self._at(self.now + self._random.expovariate(1 / (60 * self.hours_between_failures)), "fail", node)

    def _at(self, minute: float, kind: str, about: Any) -> None:
        self._number += 1
        heapq.heappush(self._events, (minute, self._number, kind, about))


@frozen
class Simulated(Executor):
    """Opens a cluster."""

    name: ClassVar[str] = "simulated"
    summary: ClassVar[str] = "computes nothing"
    cluster: ClassVar[Cluster]

    def open(self, session: Session, receive: Receive) -> ExecutorRun:
        return self.cluster

    def slots(self, jobs: int | None) -> int:
        return self.cluster.nodes * self.cluster.per_node

    def cpus(self, jobs: int | None) -> int:
        return 1


def planned(folder: Path, stages: int) -> Plan:
    """Return the plan of a study with about as many distinct stages."""
    model = tiny_model("bert", folder / "tiny")
    task = {"name": "demo", "rows": 1200, "dev_rows": 50, "test_rows": 100}
    seeds, sparsities = 10, 10
    rates = max(1, round((stages - 30 * seeds) / (2 * sparsities * seeds * 3)))
    table = {
        "recipes": ["robust-ticket"],
        "tasks": [task],
        "seeds": seeds,
        "set": {"model": str(model), "max_length": 48, "precision": "fp32", "attack": ["deepwordbug"], "n": 20},
        "vary": {
            "pruner": ["hard-concrete", "mask-training"],
            "sparsity": [round(0.05 + number / 20, 2) for number in range(sparsities)],
            "retrain.lr": [(number + 1) * 1e-6 for number in range(rates)],
        },
    }
    return plan_study(study_of("simulated", table, scale="small"), folder / "lab")


def memory() -> float:
    """Return the resident memory of this process in MB."""
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1000


def simulate(plan: Plan, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Execute the plan on a simulated cluster."""
    durations = Durations(plan, options.seed)
    nodes = max(1, options.workers // options.per_node)
    cluster = Simulated.cluster = Cluster(durations, nodes, options.per_node, options.failures, options.seed)
    errors: list[str] = []
    complete = 0

    def done(number: int, run: Path | None, error: str) -> None:
        nonlocal complete
        complete += not error
        errors.extend([error] if error else [])

    before = time.process_time()
    execution = execute.Execution(plan, folder / "log.jsonl", done, Simulated())
    execution._remaining.clock = lambda: 60 * cluster.now
    with mock.patch.object(execute, "assemble", return_value=(None, "")), mock.patch.object(execute, "import_textattack"):
        execution.run()
    seconds = time.process_time() - before
    workers = nodes * options.per_node
    bound = max(durations.total() / workers, durations.longest_chain())
    return {
        "makespan_hours": cluster.now / 60,
        "lower_bound_hours": bound / 60,
        "longest_chain_hours": durations.longest_chain() / 60,
        "makespan / lower bound": cluster.now / bound,
        "node_failures": cluster.failures,
        "stages_lost_and_started_again": cluster.lost,
        "minutes_computed_twice": cluster.busy - durations.total(),
        "cells_complete": complete,
        "cells_failed": len(errors),
        "driver_cpu_seconds": seconds,
        "driver_cpu_milliseconds_per_stage": 1000 * seconds / len(plan.stages),
        "driver_memory_mb": memory(),
    }


def simulate_parts(plan: Plan, options: argparse.Namespace) -> dict[str, Any]:
    """Execute the parts of a plan, each of them one stage at a time and beginning at once, without failures."""
    durations = Durations(plan, options.seed)
    started = time.process_time()
    parts = [StageScheduler(only_units(plan, units)) for units in divide(plan, options.parts)]
    seconds = time.process_time() - started
    finished: set[str] = set()
    computing: set[str] = set()
    waiting: dict[str, list[int]] = {}
    events: list[tuple[float, int, str]] = []
    ends, waited, since = [0.0] * len(parts), 0.0, dict[int, float]()

    def go_on(number: int, now: float) -> None:
        schedule = parts[number]
        while (chosen := schedule.next(computing.__contains__)) is not None:
            if chosen.key in finished:
                schedule.finish(chosen.key)
            elif chosen.key in computing:  # all that it could do is being computed by others
                waiting.setdefault(chosen.key, []).append(number)
                since[number] = now
                return
            else:
                computing.add(chosen.key)
                heapq.heappush(events, (now + durations.of(chosen.key), number, chosen.key))
                return
        ends[number] = now

    for number in range(len(parts)):
        go_on(number, 0.0)
    while events:
        now, number, key = heapq.heappop(events)
        computing.discard(key)
        finished.add(key)
        for other in waiting.pop(key, []):
            waited += now - since.pop(other)
            parts[other].finish(key)
            go_on(other, now)
        parts[number].finish(key)
        go_on(number, now)
    assert finished == set(plan.stages)
    bound = max(durations.total() / len(parts), durations.longest_chain())
    shared = Counter(key for schedule in parts for key in schedule.plan.stages)
    return {
        "makespan_hours": max(ends) / 60,
        "lower_bound_hours": bound / 60,
        "makespan / lower bound": max(ends) / bound,
        "hours_waited_for_other_parts_each": waited / 60 / len(parts),
        "stages_that_several_parts_need": sum(count > 1 for count in shared.values()),
        "division_cpu_seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--per-node", type=int, default=4)
    parser.add_argument("--failures", type=float, default=24.0, help="mean hours between two failures of a node; 0 for none")
    parser.add_argument("--parts", type=int, help="also simulate a job array of as many parts")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, progress.silent():
        folder = Path(name)
        planned(folder, 100)  # imports what planning needs
        empty, before = memory(), time.process_time()
        plan = planned(folder, options.stages)
        found: dict[str, Mapping[str, Any]] = {
            "plan": {
                "cells": len(plan.cells),
                "stages": len(plan.stages),
                "cpu_seconds": time.process_time() - before,
                "memory_mb": memory() - empty,
                "kilobytes_per_stage": 1000 * (memory() - empty) / len(plan.stages),
            },
            "cluster": simulate(plan, options, folder),
        }
        if options.parts:
            found["parts"] = simulate_parts(plan, options)
    sys.stdout.write(json.dumps(rounded(found), indent=2) + "\n")


def rounded(value: Any) -> Any:
    """Return numbers rounded to four digits."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
