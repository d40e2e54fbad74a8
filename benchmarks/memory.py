"""Peak memory of a search with FreeLB compared with fine-tuning, each in its own process.

    python benchmarks/memory.py [--task PATH] [--steps 8]

Prints the peak resident size of both, their ratio, and the ratio of the increases during training.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys

from timing import steps as steps_of
from train_steps import make

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.tasks.datasets.lookup import find_task


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(kind: str, task: str, steps: int) -> None:
    """Train for some steps in this process and print the peaks before and after, in MiB."""
    data = find_task(task).load()
    before = peak()
    loop = make(Clean() if kind == "fine-tuning" else FreeLB(steps=3), data, "fp32", masks=kind == "search")
    steps_of(loop, loop.rows.epoch(32, 0, 0)[:steps])(0)
    print(json.dumps({"before": before, "peak": peak()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="demo")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--kind", choices=["fine-tuning", "search"])
    options = parser.parse_args()
    if options.kind:
        measure(options.kind, options.task, options.steps)
        return
    measured = {}
    for kind in ("fine-tuning", "search"):
        command = [sys.executable, __file__, "--kind", kind, "--task", options.task, "--steps", str(options.steps)]
        measured[kind] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    increase = {kind: sizes["peak"] - sizes["before"] for kind, sizes in measured.items()}
    ratios = {
        "peak": measured["search"]["peak"] / measured["fine-tuning"]["peak"],
        "increase": increase["search"] / increase["fine-tuning"],
    }
    print(json.dumps({"MiB": measured, "search / fine-tuning": ratios}, indent=2))


if __name__ == "__main__":
    main()
