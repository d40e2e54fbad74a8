"""Sparsity schedules: the cubic schedule, and the steps of iterative magnitude pruning.

SRNets (Liu et al., 2022, supplement A.1.1 and B.3.3); the cubic schedule is that of Zhu and Gupta (2017). Times are numbers of completed
optimizer steps.
"""

from __future__ import annotations

import math

from attrs import frozen

from ticketlab.core.errors import SettingError

SLACK = 1e-9
"""Quotients and products of fractions that are within this distance of a round number count as that number."""


@frozen
class Pruning:
    """Remove weights up to ``sparsity`` after ``step`` optimizer steps."""

    step: int
    sparsity: float


def step_at(share: float, steps: int) -> int:
    """Return the number of ``steps`` optimizer steps that are done at a fraction of the training, rounded half up."""
    return math.floor(share * steps + 0.5 + SLACK)


def count_of(target: float, amount: float) -> int:
    """Return the number of prunings of ``amount`` that reach the sparsity ``target``. The last one may be smaller."""
    return math.ceil(target / amount - SLACK)


def prunings(target: float, amount: float, interval: float, steps: int) -> tuple[Pruning, ...]:
    """Return the prunings that reach the sparsity ``target``, the first before any step; none if the target is 0.

    Each removes ``amount`` of the ORIGINAL weights, so 1/10, 1/9, 1/8 ... of the remaining ones for an amount of 0.1. The last one removes
    the remainder. ``interval`` is the fraction of the training between two prunings. With few steps, several prunings may
    have the same step.

    :raises SettingError: they do not fit into the training.
    """
    count = count_of(target, amount)
    if count == 0:
        return ()
    last = (count - 1) * interval
    if last > 1 + SLACK:
        raise SettingError(
            f"interval: the sparsity {target:g} takes {count} prunings of {amount:g} each; with {interval:g} of the "
            f"training between two, the last would be at {last:g} of it; shorten the interval or raise the amount"
        )
    reached = [*(round((k + 1) * amount, 12) for k in range(count - 1)), target]
    return tuple(Pruning(step_at(k * interval, steps), sparsity) for k, sparsity in enumerate(reached))


def cubic(initial: float, final: float, share: float) -> float:
    """Return the sparsity at a fraction of the schedule. It rises from ``initial``, first fast, then slower, and stays at ``final``."""
    left = 1 - min(1.0, share)
    return final + (initial - final) * left**3
