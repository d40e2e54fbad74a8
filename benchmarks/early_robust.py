"""The training time of EarlyRobust (search and fine-tuning) compared with FreeLB and PGD for the same epochs.

    python benchmarks/early_robust.py [--model demo|base] [--task PATH] [--length N] [--steps 5] [--epochs 10] [--search-epochs 0.3]

Step times are measured on the same padded batches and multiplied by the steps of each method. The bound counts only passes (forward and
backward) and the encoder's FLOPs. An ascent step of PGD computes no weight gradients and counts as two thirds of a pass.
"""

from __future__ import annotations

import argparse
import json

import torch
from timing import bert_base, flops, interleaved, loop, random_rows, random_ticket, steps

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.adversaries.pgd import PGD
from ticketlab.backbone import loading
from ticketlab.backbone.device import pick_device, pick_precision
from ticketlab.backbone.shrinking import shrink
from ticketlab.core.settings import parse_ratio
from ticketlab.pruners.importance import Importance
from ticketlab.tasks.datasets.lookup import find_task
from ticketlab.training.batch import tokenize
from ticketlab.training.plan import TrainingPlan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="demo", choices=("demo", "base"))
    parser.add_argument("--task", default="demo", help="texts for the lengths of the batches")
    parser.add_argument("--length", type=int, help="use random rows of this length instead of a task's")
    parser.add_argument("--steps", type=int, default=5, help="K of all adversaries")
    parser.add_argument("--epochs", type=float, default=10)
    parser.add_argument("--search-epochs", type=float, default=0.3, help="until the mask has settled; the paper reports 0.15 to 0.3")
    parser.add_argument("--heads", default="1/6")
    parser.add_argument("--neurons", default="0.3")
    parser.add_argument("--batches", type=int, default=4, help="batches of 32 rows, from the shuffled batches of an epoch")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--precision", default="auto")
    options = parser.parse_args()
    precision = pick_precision(options.precision)

    def fresh():
        return bert_base() if options.model == "base" else loading.load_classifier("demo", ("a", "b"), 0)[0].to(pick_device())

    if options.length:
        rows = random_rows(32 * options.batches, options.length)
    else:
        rows = tokenize(find_task(options.task).load().examples("train"), loading.load_tokenizer("demo"), 128)
    batches = rows.epoch(32, 0, 0)[: options.batches]
    mean_length = sum(max(len(rows.input_ids[index]) for index in batch) for batch in batches) / len(batches)
    searched = fresh()
    gates = Importance().begin(TrainingPlan(searched, steps=100, seed=0))
    small = fresh()
    share = 1 / flops(small, int(mean_length))
    small = shrink(small, random_ticket(small, parse_ratio(options.heads), parse_ratio(options.neurons)))
    share *= flops(small, int(mean_length))
    kinds = {
        "freelb": steps(loop(fresh(), rows, FreeLB(steps=options.steps), precision), batches),
        "pgd": steps(loop(fresh(), rows, PGD(steps=options.steps), precision), batches),
        "search": steps(loop(searched, rows, FreeLB(steps=options.steps), precision, [gates]), batches),
        "fine-tune shrunk": steps(loop(small, rows, Clean(), precision), batches),
        "fine-tune": steps(loop(fresh(), rows, Clean(), precision), batches),
    }
    seconds = {name: value / len(batches) for name, value in interleaved(kinds, options.repeats).items()}
    ours = options.search_epochs * seconds["search"] + options.epochs * seconds["fine-tune shrunk"]
    counted = options.steps * options.search_epochs + options.epochs * share
    passes = {"freelb": options.steps, "pgd": 1 + (options.steps - 1) * 2 / 3}
    report = {
        "model": options.model, "precision": precision, "threads": torch.get_num_threads(), "length": mean_length,
        "seconds per step": seconds, "fraction of FLOPs": share,
    }  # fmt: skip
    for name, cost in passes.items():
        speedup, bound = options.epochs * seconds[name] / ours, options.epochs * cost / counted
        report[f"against {name}"] = {"speedup": speedup, "bound": bound, "speedup / bound": speedup / bound}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
