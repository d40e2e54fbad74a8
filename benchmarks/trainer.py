"""Fine-tuning beside transformers' Trainer with texts grouped by length: the time of an epoch in turn, and the accuracy.

    python benchmarks/trainer.py [--task sst2] [--rows 1600] [--repeats 2] [--seeds 0] [--epochs 3]

Both train the demo encoder in float32 on one thread with batches of 32 examples, AdamW and the same learning rates. The whole loop is
timed, in CPU seconds: batching, passes and updates, without loading, evaluation and checkpoints. The faster run of each counts. With
--seeds N, both are then trained for --epochs with each of N seeds, and their accuracies on the development split are shown.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from attrs import evolve
from transformers import DataCollatorWithPadding, Trainer, TrainerCallback, TrainingArguments

from ticketlab.adversaries.base import AdversaryRun
from ticketlab.adversaries.none import Clean
from ticketlab.backbone import loading
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.tasks.datasets.lookup import find_task
from ticketlab.training.batch import TokenizedRows, tokenize
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.evaluation import predict
from ticketlab.training.loop import Loop
from ticketlab.training.optimizer import adamw

BATCH, LR, WEIGHT_DECAY, WARMUP, LENGTH = 32, 1e-4, 0.01, 0.1, 128


def ours(model: Any, rows: TokenizedRows, seed: int, epochs: float) -> float:
    """Train ``model`` with ticketlab's loop and return the seconds."""
    torch.manual_seed(seed)
    loop = Loop(
        loss_function=ClassificationLoss(model, LossRun(CrossEntropy())), adversary=AdversaryRun(Clean()),
        optimizer=adamw(model, (), LR, WEIGHT_DECAY), callbacks=(), rows=rows, batch_size=BATCH, epochs=epochs, warmup=WARMUP,
        clip=1.0, order_seed=seed, dropout_seed=seed, checkpoint=Checkpoint(Path("unused")), checkpoint_seconds=1e9,
        log=lambda _: None, title="benchmark",
    )  # fmt: skip
    started = time.process_time()
    loop.run()
    return time.process_time() - started


class Clock(TrainerCallback):
    """Notes when the first step begins and the last has ended."""

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        """Start, once."""
        self.started = getattr(self, "started", time.process_time())

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Stop."""
        self.seconds = time.process_time() - self.started


def transformers(model: Any, tokenizer: Any, rows: TokenizedRows, seed: int, epochs: float) -> float:
    """Train ``model`` with transformers' Trainer and return the seconds."""
    examples = [{"input_ids": list(ids), "labels": label} for ids, label in zip(rows.input_ids, rows.labels, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder, per_device_train_batch_size=BATCH, learning_rate=LR, weight_decay=WEIGHT_DECAY, warmup_ratio=WARMUP,
            num_train_epochs=epochs, group_by_length=True, seed=seed, optim="adamw_torch_fused", use_cpu=True, save_strategy="no",
            eval_strategy="no", logging_strategy="no", report_to=[], disable_tqdm=True,
        )  # fmt: skip
        clock = Clock()
        Trainer(model, settings, DataCollatorWithPadding(tokenizer), examples, callbacks=[clock]).train()
    return clock.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="sst2")
    parser.add_argument("--rows", type=int, default=1600)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--epochs", type=float, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = find_task(options.task).load()
    _, tokenizer = loading.load_classifier("demo", data.label_names, 0)
    every = tokenize(data.splits["train"], tokenizer, LENGTH)
    development = tokenize(data.splits["dev"], tokenizer, LENGTH)
    count = min(options.rows, len(every))
    types = every.token_type_ids
    rows = evolve(every, input_ids=every.input_ids[:count], labels=every.labels[:count], token_type_ids=types and types[:count])
    batches = [[len(rows.input_ids[index]) for index in batch] for batch in rows.epoch(BATCH, 0, 0)]
    tokens, padded = sum(map(sum, batches)), sum(len(batch) * max(batch) for batch in batches)

    def run(kind: str, seed: int, epochs: float) -> tuple[float, float]:
        model, _ = loading.load_classifier("demo", data.label_names, seed)
        train = ours(model, rows, seed, epochs) if kind == "ticketlab" else transformers(model, tokenizer, rows, seed, epochs)
        predicted = predict(model.eval(), development).argmax(dim=1)
        return train, float((predicted == torch.tensor(development.labels)).float().mean())

    kinds = ("ticketlab", "transformers")
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(options.repeats):
        for kind in kinds:
            seconds[kind].append(run(kind, 0, 1)[0])
    best = {kind: min(times) for kind, times in seconds.items() if times}
    accuracies = {kind: [run(kind, seed, options.epochs)[1] for seed in range(options.seeds)] for kind in kinds}
    print(
        json.dumps(
            {
                "rows": count,
                "tokens": tokens,
                "padding, fraction of the tokens": 1 - tokens / padded,
                "seconds of an epoch": seconds,
                "transformers / ticketlab": best["transformers"] / best["ticketlab"] if best else None,
                "development accuracy": accuracies,
                "means": {kind: statistics.mean(values) for kind, values in accuracies.items() if values},
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
