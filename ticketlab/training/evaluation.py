"""Predict with a classifier, and score predictions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ticketlab.backbone.adapters import pads
from ticketlab.backbone.input_limits import pooled_eos_token
from ticketlab.core import progress
from ticketlab.core.component import Precision
from ticketlab.core.errors import TicketlabError
from ticketlab.inference.evaluation_mode import evaluation_mode
from ticketlab.tasks.metrics import measures
from ticketlab.training.batch import MULTIPLE, TokenizedRows
from ticketlab.training.loss_function import forward


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Like :func:`~ticketlab.inference.evaluation_mode.evaluation_mode`, and compute no gradients."""
    with evaluation_mode(model), torch.inference_mode():
        yield


def predict(model: Any, rows: TokenizedRows, *, batch_size: int = 64, precision: Precision = "fp32", title: str = "") -> Tensor:
    """Return the logits (rows, classes) on the CPU, in the order of ``rows``. The mode of every submodule is restored.

    With a ``title`` a progress bar is shown. A decoder or a model of a family without an adapter gets rows of equal length, because it may
    classify from the last token, and how it pads is unknown.

    :raises TicketlabError: a logit is not finite.
    """
    device = next(model.parameters()).device
    padded = pads(model.config.model_type)
    multiple = MULTIPLE if padded else 1
    batches = rows.by_length(batch_size) if padded else rows.of_one_length(batch_size, pooled_eos_token(model))
    logits: dict[int, Tensor] = {}
    with evaluating(model), progress.bar(title, len(rows)) if title else contextlib.nullcontext() as bar:
        for indices in batches:
            outputs = forward(model, rows.collate(indices, multiple).to(device), precision).cpu()
            if not bool(outputs.isfinite().all()):
                raise TicketlabError(
                    f"{title}{': ' if title else ''}the model's logits are not finite (NaN or infinite), so it cannot be used for "
                    "predictions; its weights are damaged, or its training diverged"
                )
            logits |= dict(zip(indices, outputs, strict=True))
            if bar is not None:
                bar.advance(len(indices))
    return torch.stack([logits[index] for index in range(len(rows))]) if logits else torch.zeros(0, 0)


def scores(predicted: Tensor, labels: Sequence[int], classes: int, positive: int | None = None) -> dict[str, float]:
    """Return the :func:`~ticketlab.tasks.metrics.measures` of predicted label indices, (rows,), with at least one row."""
    by_name = measures(list(zip(labels, predicted.tolist(), strict=True)), classes, positive)
    return {name: score for name, score in by_name.items() if score is not None}
