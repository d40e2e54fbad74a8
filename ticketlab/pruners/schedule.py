"""When a search has come to which sparsity: the cubic schedule, and the prunings of iterative magnitude pruning.

SRNets (Liu et al., 2022, supplement A.1.1 and B.3.3); the cubic schedule is that of Zhu and Gupta (2017). Times count optimizer steps done.
"""

from __future__ import annotations

import math

from attrs import frozen

from ticketlab.core.errors import SettingError

SLACK = 1e-9
"""Quotients and products of fractions are taken for the round numbers that they miss by less than this."""


@frozen
class Pruning:
    """Remove weights up to ``sparsity`` once ``step`` optimizer steps are done."""

    step: int
    sparsity: float


def step_at(share: float, steps: int) -> int:
    """Return how many of ``steps`` optimizer steps are done at a fraction of the training: the nearest number, halves upwards."""
    return math.floor(share * steps + 0.5 + SLACK)


def count_of(target: float, amount: float) -> int:
    """Return how many prunings of ``amount`` lead to the sparsity ``target``; the last may be a smaller one."""
    return math.ceil(target / amount - SLACK)


def prunings(target: float, amount: float, interval: float, steps: int) -> tuple[Pruning, ...]:
    """Return the prunings that lead to the sparsity ``target``, the first before any step; none for the target 0.

    Each removes ``amount`` of the ORIGINAL weights, so of the remainder 1/10, 1/9, 1/8 ... where the amount is 0.1; the last what is left
    to the target. ``interval`` is the fraction of the training between two. With few steps, several fall on the same one.

    :raises SettingError: they take longer than the training.
    """
    count = count_of(target, amount)
    if count == 0:
        return ()
    last = (count - 1) * interval
    if last > 1 + SLACK:
        raise SettingError(
            f"interval: {count} prunings, of {amount:g} of the weights each, lead to the sparsity {target:g}; with {interval:g} of the "
            f"training between two, the last would come at {last:g} of it; shorten the interval or raise the amount"
        )
    reached = [*(round((k + 1) * amount, 12) for k in range(count - 1)), target]
    return tuple(Pruning(step_at(k * interval, steps), sparsity) for k, sparsity in enumerate(reached))


def cubic(initial: float, final: float, share: float) -> float:
    """Return the sparsity at a fraction of the schedule: from ``initial`` fast, then ever slower, to ``final``, where it stays."""
    left = 1 - min(1.0, share)
    return final + (initial - final) * left**3
