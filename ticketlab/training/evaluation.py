"""Predictions of a classifier, and the scores of predictions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ticketlab import progress
from ticketlab.training.batch import Rows
from ticketlab.training.objective import Precision, forward


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Put a model into evaluation mode, without gradients, inside the block; the mode of every submodule is then restored."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def predict(model: Any, rows: Rows, *, batch_size: int = 64, precision: Precision = "fp32", title: str = "") -> Tensor:
    """Return the logits (rows, classes) on the CPU, in the order of ``rows``. The mode of every submodule is restored.

    With a ``title`` there is a progress bar.
    """
    device = next(model.parameters()).device
    logits: dict[int, Tensor] = {}
    with evaluating(model), progress.bar(title, len(rows)) if title else contextlib.nullcontext() as bar:
        for indices in rows.by_length(batch_size):
            outputs = forward(model, rows.collate(indices).to(device), precision).cpu()
            logits |= dict(zip(indices, outputs, strict=True))
            if bar is not None:
                bar.advance(len(indices))
    return torch.stack([logits[index] for index in range(len(rows))]) if logits else torch.zeros(0, 0)


def scores(predicted: Tensor, labels: Tensor) -> dict[str, float]:
    """Return the accuracy, and the F1 averaged over the labels and weighted by their examples, of predicted label indices."""
    from sklearn.metrics import f1_score

    return {
        "accuracy": float((predicted == labels).double().mean()),
        "f1": float(f1_score(labels.numpy(), predicted.numpy(), average="macro", zero_division=0)),
        "weighted_f1": float(f1_score(labels.numpy(), predicted.numpy(), average="weighted", zero_division=0)),
    }
