"""The schedule of the sparsity: constant, then cubic, then constant (Sanh et al., 2020, section 5, after Zhu and Gupta, 2017)."""

from __future__ import annotations

import math

from attrs import frozen


@frozen
class Schedule:
    """A value that is 0 until the step ``start``, then rises, first fast and then slower, and is ``final`` from the step ``end``."""

    start: int
    end: int
    final: float

    @classmethod
    def of(cls, steps: int, warmup: float, cooldown: float, final: float) -> Schedule:
        """Return the schedule of a training of ``steps`` steps. ``warmup`` and ``cooldown`` are its constant parts, as fractions of it."""
        start = round(warmup * steps)
        return cls(start, max(start, steps - round(cooldown * steps)), final)

    def at(self, step: int) -> float:
        """Return the value in a step, counted from 0."""
        if step >= self.end:
            return self.final
        left = (self.end - max(step, self.start)) / (self.end - self.start) if step > self.start else 1.0
        return self.final * (1 - math.pow(left, 3))
