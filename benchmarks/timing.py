"""Shared by the benchmarks: interleaved timing, loops ready for a step, random models and rows, and FLOPs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from ticketlab.adversaries.base import AdversaryRun
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.device import pick_device, remember_shapes
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.tickets.draw import draw
from ticketlab.training.batch import TokenizedRows
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.loop import Loop
from ticketlab.training.optimizer import adamw

remember_shapes()


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that several benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--precision", default="auto")
    return parser


def interleaved(kinds: Mapping[str, Callable[[int], object]], repeats: int, warmup: int = 1) -> dict[str, float]:
    """Return the seconds of the fastest run of each call, because other load on the machine only adds time. The calls are interleaved.

    On one thread of a CPU they are seconds of CPU time, otherwise of a clock.
    """
    alone = pick_device().type == "cpu" and torch.get_num_threads() == 1
    now = time.process_time if alone else time.perf_counter
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for turn in range(repeats + warmup):
        for name, call in kinds.items():
            _finish()
            started = now()
            call(turn)
            _finish()
            if turn >= warmup:
                seconds[name].append(now() - started)
    return {name: min(times) for name, times in seconds.items()}


def _finish() -> None:
    if pick_device().type == "cuda":
        torch.cuda.synchronize()


def loop(model, rows: TokenizedRows, adversary, precision: str, callbacks: Sequence = (), batch_size: int = 32) -> Loop:
    """Return the training loop of a model, ready for a step."""
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()), precision=precision, callbacks=callbacks)
    model.train()
    return Loop(
        loss_function=loss_function, adversary=AdversaryRun(adversary), optimizer=adamw(model, callbacks, 2e-5, 0.01),
        callbacks=callbacks, rows=rows,
        batch_size=batch_size, epochs=1, warmup=0.1, clip=1.0, order_seed=0, dropout_seed=0,
        checkpoint=Checkpoint(Path("unused")), checkpoint_seconds=1e9,
        log=print, title="benchmark",
    )  # fmt: skip


def steps(training: Loop, batches: Sequence[Sequence[int]]) -> Callable[[int], object]:
    """Return a function that takes one optimizer step for each batch."""
    device = next(training.loss_function.model.parameters()).device
    prepared = [
        training.loss_function.prepare(training.rows.collate(batch), step, len(batches)).to(device) for step, batch in enumerate(batches)
    ]

    def call(turn: int) -> None:
        with training._reused_embedding_gradient():
            for index, batch in enumerate(prepared):
                training._step(turn * len(prepared) + index, batch)

    return call


def bert_base(layers: int = 12):
    """Return a classifier of BERT-base's shapes with random weights."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    return BertForSequenceClassification(BertConfig(num_hidden_layers=layers, num_labels=2)).to(pick_device())


def random_rows(count: int, length: int) -> TokenizedRows:
    """Return rows of random tokens, all of the same length."""
    ids = torch.randint(1000, 30000, (count, length), generator=torch.Generator().manual_seed(0)).tolist()
    return TokenizedRows(ids, None, [index % 2 for index in range(count)], 0, 0)


def random_ticket(model, heads: float, neurons: float) -> dict[str, torch.Tensor]:
    """Return structured masks of random scores, ranked globally."""
    generator = torch.Generator().manual_seed(0)
    units = {name: shape for name, shape in Backbone(model).units().items() if not name.startswith("weights/")}
    return draw({name: torch.rand(shape, generator=generator) for name, shape in units.items()}, {"heads": heads, "neurons": neurons})


def flops(model, length: int) -> float:
    """Return the multiply-adds of the encoder layers per token of a text of this length: projections, attention, feed-forward."""
    backbone = Backbone(model)
    total = 0.0
    for layer in backbone.layers:
        width = layer.attention_output.weight.shape[layer.head_reader.dimension]
        matrices = sum(matrix.weight.numel() for matrix in layer.matrices.values())
        total += matrices + 2 * length * width
    return total
