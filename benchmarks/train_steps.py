"""Cost of training steps, as ratios in one run: plain, FreeLB, and a hard-concrete search under FreeLB.

    python benchmarks/train_steps.py [--task PATH] [--steps 12] [--precision auto]

Steps of all kinds are interleaved, so that a slow moment of the machine hits all of them; medians are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import torch

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.backbone import loading
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.device import pick_device, pick_precision
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.pruners.base import Plan
from ticketlab.pruners.hard_concrete import HardConcrete
from ticketlab.tasks.choose import choose
from ticketlab.training.batch import tokenize
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.loop import Loop
from ticketlab.training.objective import TaskObjective
from ticketlab.training.optimizer import adamw


def make(adversary, data, precision: str, *, masks: bool) -> Loop:
    """Return a loop of its own model, ready to step."""
    model, tokenizer = loading.load_classifier("demo", data.label_names, 0)
    model.to(pick_device()).requires_grad_(not masks)
    lives = [HardConcrete().attach(Backbone(model), Plan(steps=100, seed=0))] if masks else []
    objective = TaskObjective(model, CrossEntropy(), precision=precision, lives=lives)
    rows = tokenize(data.splits["train"], tokenizer, 128)
    optimizer = adamw(model, lives, 2e-5, 0.01)
    model.train()
    return Loop(
        objective=objective, adversary=adversary, optimizer=optimizer, lives=lives, rows=rows, batch_size=32, epochs=1, warmup=0.1,
        clip=1.0, seed=0, checkpoint=Checkpoint(Path("unused")), checkpoint_seconds=1e9, log=print, title="benchmark",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="demo")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--precision", default="auto")
    options = parser.parse_args()
    data = choose(options.task).load()
    precision = pick_precision(options.precision)
    kinds = {
        "plain": make(Clean(), data, precision, masks=False),
        "freelb K=3": make(FreeLB(steps=3), data, precision, masks=False),
        "freelb K=1": make(FreeLB(steps=1), data, precision, masks=False),
        "search freelb K=3": make(FreeLB(steps=3), data, precision, masks=True),
        "search freelb K=1": make(FreeLB(steps=1), data, precision, masks=True),
    }
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    batches = kinds["plain"].rows.epoch(32, 0, 0)
    for step in range(options.steps + 2):
        for kind, loop in kinds.items():
            started = time.perf_counter()
            loop._step(step, batches[step])
            if pick_device().type == "cuda":
                torch.cuda.synchronize()
            if step >= 2:
                seconds[kind].append(time.perf_counter() - started)
    medians = {kind: statistics.median(times) for kind, times in seconds.items()}
    ratios = {
        "freelb K=3 / plain": medians["freelb K=3"] / medians["plain"],
        "search K=3 / freelb K=3": medians["search freelb K=3"] / medians["freelb K=3"],
        "search K=1 / freelb K=1": medians["search freelb K=1"] / medians["freelb K=1"],
    }
    print(json.dumps({"precision": precision, "threads": torch.get_num_threads(), "seconds": medians, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
