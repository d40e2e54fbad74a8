"""Parts of a batch: the rows that one process, or one of several micro-batches, computes the gradients of.

Parts keep the padding of the whole batch, and their sizes differ by one at most. The mean of their losses, weighted by their shares of the
rows, is the loss of the batch. So a loss is a mean over the rows of its part, and whoever adds a mean over rows to it need not know of
parts. Only a loss that is divided by a sum of weights must be :func:`balanced`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

import torch
from attrs import define
from torch import Tensor

from ticketlab.core.errors import PluginError, UsageError
from ticketlab.inference import random_state
from ticketlab.training.batch import Batch


@define(eq=False)
class BatchPart:
    """One part of a batch."""

    index: int
    """The number of the part among all parts of the batch, counted from 0."""
    first: int
    """The first of its rows in the batch."""
    rows: int
    """The number of its rows, at least 1."""
    total: int
    """The number of rows of the whole batch."""
    share: float
    """The weight of its loss in that of the batch: its fraction of the rows; 0 for a part that only takes part in the passes."""
    shared_random_state: dict[str, Tensor]
    """The state of the random generators from which every part draws the same numbers, for the whole batch."""

    def of(self, batch: Batch) -> Batch:
        """Return the rows of the part."""
        return batch.rows(self.first, self.rows)

    def of_rows(self, values: Tensor) -> Tensor:
        """Return the values of the rows of the part, from those of the whole batch."""
        return values[self.first : self.first + self.rows]


def parts_of(total: int, number: int) -> list[BatchPart]:
    """Return ``number`` parts of a batch of ``total`` rows. If there are fewer rows, some are copies of the first row with the share 0."""
    bounds = [total * index // number for index in range(number + 1)]
    state = random_state.capture()
    return [
        BatchPart(index, first, last - first, total, (last - first) / total, state)
        if last > first
        else BatchPart(index, 0, 1, total, 0.0, state)
        for index, (first, last) in enumerate(itertools.pairwise(bounds))
    ]


_current: BatchPart | None = None


def current() -> BatchPart | None:
    """Return the part whose gradients are being computed; None if it is a whole batch."""
    return _current


@contextlib.contextmanager
def computing(part: BatchPart, seed: int) -> Iterator[None]:
    """Compute the passes of a part inside the block, with random generators of its own, seeded by ``seed``, for dropout.

    At the end the generators have the state from which all parts have drawn.
    """
    global _current
    outer, _current = _current, part
    random_state.seed_tensors(seed)
    try:
        yield
    finally:
        _current = outer
        random_state.restore(part.shared_random_state)


def drawn_for_batch(rows: int, draw: Callable[[int], Tensor]) -> Tensor:
    """Return random numbers for ``rows`` rows, the first dimension of what ``draw`` returns for a number of rows.

    ``draw`` uses torch's global generators. If the rows are a part of a batch, it is called for the whole batch, and the numbers of the
    part are returned: an adversary then perturbs each row in the same way however the batch is divided.

    :raises PluginError: the number of rows is not that of the part.
    """
    part = _current
    if part is None:
        return draw(rows)
    if rows != part.rows:
        raise PluginError(f"random numbers are drawn for {rows} rows, and the part of the batch has {part.rows}")
    own = random_state.capture()
    random_state.restore(part.shared_random_state)
    whole = draw(part.total)
    part.shared_random_state = random_state.capture()
    random_state.restore(own)
    return part.of_rows(whole)


def balanced(loss: Tensor, weights: Tensor, of_batch: Tensor) -> Tensor:
    """Return a loss that was divided by the sum of ``weights`` (rows,), for the mean over parts that divides by the sum over the batch.

    ``of_batch`` are the weights of the whole batch, (all rows,). Outside of a part, the loss is returned unchanged.
    """
    if _current is None:
        return loss
    mean = of_batch.double().mean().clamp(min=torch.finfo(torch.float32).tiny)
    return loss * (weights.double().mean() / mean).to(loss)


def check_weights(name: str, weights: Tensor, of_batch: Tensor | None) -> None:
    """Check that the weights of a part, (rows,), are those that were announced for the whole batch; None announces ones.

    :raises UsageError: they are not, so the sum over the batch is unknown.
    """
    if _current is None:
        return
    expected = torch.ones_like(weights) if of_batch is None else _current.of_rows(of_batch).to(weights)
    if not torch.allclose(weights.detach(), expected, rtol=1e-4, atol=1e-6):
        raise UsageError(
            f"{name} weights examples by what is known only after a pass over all rows of a batch, and divides by the sum of the weights: "
            "train in one process with accumulate = 1, or set loss.reduction = batch"
        )
