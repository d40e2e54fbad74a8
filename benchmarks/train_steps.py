"""The cost of training steps, as ratios within one run: plain, FreeLB, and a hard-concrete search with FreeLB.

    python benchmarks/train_steps.py [--task PATH] [--batches 4] [--repeats 5] [--precision auto]

Steps of all kinds are interleaved, so that other load on the machine affects all of them. The fastest of each are compared.
"""

from __future__ import annotations

import argparse
import json

import torch
from timing import interleaved, loop, steps

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.backbone import loading
from ticketlab.backbone.device import pick_device, pick_precision
from ticketlab.pruners.hard_concrete import HardConcrete
from ticketlab.tasks.datasets.lookup import find_task
from ticketlab.training.batch import tokenize
from ticketlab.training.loop import Loop
from ticketlab.training.plan import TrainingPlan


def make(adversary, data, precision: str, *, masks: bool) -> Loop:
    """Return a loop with its own model, ready for a step."""
    model, tokenizer = loading.load_classifier("demo", data.label_names, 0)
    model.to(pick_device()).requires_grad_(not masks)
    callbacks = [HardConcrete().begin(TrainingPlan(model, steps=100, seed=0))] if masks else []
    return loop(model, tokenize(data.splits["train"], tokenizer, 128), adversary, precision, callbacks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="demo")
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--precision", default="auto")
    options = parser.parse_args()
    data = find_task(options.task).load()
    precision = pick_precision(options.precision)
    kinds = {
        "plain": make(Clean(), data, precision, masks=False),
        "freelb K=3": make(FreeLB(steps=3), data, precision, masks=False),
        "freelb K=1": make(FreeLB(steps=1), data, precision, masks=False),
        "search freelb K=3": make(FreeLB(steps=3), data, precision, masks=True),
        "search freelb K=1": make(FreeLB(steps=1), data, precision, masks=True),
    }
    batches = kinds["plain"].rows.epoch(32, 0, 0)[: options.batches]
    seconds = interleaved({kind: steps(training, batches) for kind, training in kinds.items()}, options.repeats)
    ratios = {
        "freelb K=3 / plain": seconds["freelb K=3"] / seconds["plain"],
        "search K=3 / freelb K=3": seconds["search freelb K=3"] / seconds["freelb K=3"],
        "search K=1 / freelb K=1": seconds["search freelb K=1"] / seconds["freelb K=1"],
    }
    print(json.dumps({"precision": precision, "threads": torch.get_num_threads(), "seconds": seconds, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
