"""Confidence intervals of a fraction of examples, and of a mean over examples."""

from __future__ import annotations

import functools
import math

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval, ``scipy.special.ndtri(0.975)``."""


def wilson(share: float, n: int) -> tuple[float, float] | None:
    """Return the 95 % Wilson score interval of a fraction of ``n`` examples, or None when ``n`` is 0.

    For a mean over seeds ``n`` is that of ONE seed: all seeds use the same examples, so pooling them would count each example several
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
    half = student_quantile(n - 1) * deviation / math.sqrt(n)
    return mean - half, mean + half


@functools.lru_cache(maxsize=1024)
def student_quantile(degrees_of_freedom: int) -> float:
    """Return the quantile of Student's t distribution for a two-sided 95 % interval."""
    from scipy.special import stdtrit  # what scipy.stats.t.ppf calls; scipy.stats takes three times as long to import

    return float(stdtrit(degrees_of_freedom, 0.975))
