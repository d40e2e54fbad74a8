"""The interval of a fraction of examples, and of a mean over examples."""

from __future__ import annotations

import functools
import math

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


def wilson(share: float, n: int) -> tuple[float, float] | None:
    """Return the 95 % Wilson score interval of a fraction of ``n`` examples, or None when ``n`` is 0.

    For a mean over seeds ``n`` is that of ONE seed: all seeds meet the same examples, so pooling them would count each example several
    times and make the interval too narrow.
    """
    if n == 0:
        return None
    square = Z95 * Z95
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = Z95 * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return (0.0 if share == 0 else max(0.0, centre - half), 1.0 if share == 1 else min(1.0, centre + half))


def student(mean: float, deviation: float, n: int) -> tuple[float, float] | None:
    """Return Student's 95 % interval of a mean of ``n`` values with this sample standard deviation; None for fewer than two values."""
    if n < 2:
        return None
    half = quantile95(n - 1) * deviation / math.sqrt(n)
    return mean - half, mean + half


@functools.lru_cache(maxsize=1024)
def quantile95(freedom: int) -> float:
    """Return what the absolute value of Student's t with so many degrees of freedom stays under in 95 % of the cases."""
    if freedom > 2000:
        return Z95 + (Z95**3 + Z95) / (4 * freedom)  # the series in 1 / freedom; the next term is below 1e-6
    low, high = 0.0, math.pi / 2  # of the angle whose tangent is t / sqrt(freedom)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _inside(middle, freedom) < 0.95 else (low, middle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _inside(angle: float, freedom: int) -> float:
    """Return the probability that t is within sqrt(freedom) * tan(angle) of zero (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for power in range(2 + odd, freedom - 1, 2):
        term *= math.cos(angle) ** 2 * (power - 1) / power
        total += term
    return (angle + math.sin(angle) * total) * 2 / math.pi if odd else math.sin(angle) * total
