"""Peak memory of a search compared with fine-tuning, both plain and with FreeLB (K = 3), each in its own process.

    python benchmarks/memory.py [--task sst2] [--steps 4]

The steps are on the batches with the longest texts. Prints the peak resident sizes, and the ratio of the search to the training with the
same passes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys

import torch
from timing import steps as steps_of
from train_steps import make

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.tasks.datasets.lookup import find_task

KINDS = ("fine-tuning", "search", "FreeLB", "search with FreeLB")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(kind: str, task: str, steps: int) -> None:
    """Train for some steps in this process and print the peaks before and after, in MiB."""
    torch.set_num_threads(1)
    data = find_task(task).load()
    before = peak()
    adversary = FreeLB(steps=3) if "FreeLB" in kind else Clean()
    loop = make(adversary, data, "fp32", masks="search" in kind)
    lengths = loop.rows.input_ids
    batches = sorted(loop.rows.epoch(32, 0, 0), key=lambda batch: -max(len(lengths[index]) for index in batch))
    steps_of(loop, batches[:steps])(0)
    print(json.dumps({"before": before, "peak": peak()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="sst2")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--kind", choices=KINDS)
    options = parser.parse_args()
    if options.kind:
        measure(options.kind, options.task, options.steps)
        return
    measured = {}
    for kind in KINDS:
        command = [sys.executable, __file__, "--kind", kind, "--task", options.task, "--steps", str(options.steps)]
        measured[kind] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    ratios = {
        "search / fine-tuning": measured["search"]["peak"] / measured["fine-tuning"]["peak"],
        "search with FreeLB / FreeLB": measured["search with FreeLB"]["peak"] / measured["FreeLB"]["peak"],
    }
    print(json.dumps({"MiB": measured, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
