"""The positions of an axis: levels as numbers, whether they are geometric, and where an axis begins and ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

AxisScale = Literal["auto", "linear", "log"]


def as_number(level: str) -> float | None:
    """Return a level as a number: ``0.3``, ``1e-4``, ``1/6``; None if it is not one."""
    text = level.strip()
    try:
        value = float(Fraction(text)) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError):
        return None
    return value if math.isfinite(value) else None


def is_geometric(values: Sequence[float]) -> bool:
    """Return whether positive values are rather multiplied than added to: constant ratios, or a wide range with unequal steps."""
    ordered = sorted(set(values))
    if len(ordered) < 3 or ordered[0] <= 0:
        return False
    steps = [after - before for before, after in itertools.pairwise(ordered)]
    ratios = [after / before for before, after in itertools.pairwise(ordered)]
    if max(steps) / min(steps) < 1.01:
        return False
    return max(ratios) / min(ratios) < 1.01 or ordered[-1] / ordered[0] >= 20


def domain(lows: Sequence[float], highs: Sequence[float], bounds: tuple[float, float] | None) -> tuple[float, float]:
    """Return the ends of an axis for values between these, within the ``bounds`` of possible values, on round numbers.

    It begins at zero, unless every value is in the upper half of the range up to the largest: then zero would hide the differences.
    """
    low, high = min(lows), max(highs)
    if 0 <= low <= high / 2 or low == high == 0:
        low = min(low, 0.0)
    span = (high - low) or abs(high) or 1.0
    step = _round_step(span / 5)
    start = low if low == 0 else math.floor((low - 0.02 * span) / step) * step
    end = math.ceil((high + 0.02 * span) / step) * step
    if bounds is not None:
        start, end = max(start, bounds[0]), min(end, bounds[1])
    return round(start, 10), round(end, 10)


def _round_step(raw: float) -> float:
    magnitude = float(10 ** math.floor(math.log10(raw)))
    return next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= raw - 1e-12)
