"""The number of steps of a training, and the learning rates of each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from attrs import frozen

from ticketlab.core.callback import Callback


def steps_per_epoch(rows: int, batch_size: int) -> int:
    """Return the number of optimizer steps in one pass over the rows."""
    return math.ceil(rows / batch_size)


def total_steps(rows: int, batch_size: int, epochs: float) -> int:
    """Return the number of optimizer steps of a training run: rounded to the nearest step, and at least one."""
    return max(1, round(steps_per_epoch(rows, batch_size) * epochs))


@frozen
class Schedule:
    """Linear warm-up, then linear decay to zero, in steps. ``total`` may be smaller than ``warmup``."""

    total: int
    warmup: int

    def factor(self, step: int) -> float:
        """Return the factor of the learning rates at ``step``, counted from 0."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        return max(0.0, (self.total - step) / max(1, self.total - self.warmup))


class LearningRates:
    """Sets the learning rates of each step, whose peaks are those that an optimizer has at first."""

    def __init__(self, optimizer: torch.optim.Optimizer, callbacks: Sequence[Callback], schedule: Schedule) -> None:
        self._optimizer, self._callbacks, self._schedule = optimizer, callbacks, schedule
        self._peaks = [group["lr"] for group in optimizer.param_groups]

    def set(self, step: int) -> None:
        """Set the learning rates of a step."""
        since = max((callback.schedule_start(step) for callback in self._callbacks), default=0)
        for group, peak in zip(self._optimizer.param_groups, self._peaks, strict=True):
            group["lr"] = peak * self._schedule.factor(step - since)
