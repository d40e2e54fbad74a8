"""The numbers beside a mean: the deviation over seeds, and the interval of a fraction."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from attrs import frozen

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


@frozen
class Measure:
    """A number over seeds. ``deviation`` is None for one seed, ``interval`` and ``n`` where the number is no fraction of examples."""

    mean: float
    deviation: float | None = None
    interval: tuple[float, float] | None = None
    n: int | None = None


def deviation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation (n - 1 below the sum), or None for fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else None


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


def summarise(values: Sequence[float | None], sizes: Sequence[int | None] = ()) -> Measure | None:
    """Return the mean and deviation of one value per seed, those that are None aside; None when nothing is left.

    ``sizes`` has the number of examples behind each value, where it is a fraction; the smallest counts for the interval.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = statistics.fmean(known)
    n = min((size for size in sizes if size is not None), default=None)
    return Measure(mean, deviation(known), None if n is None else wilson(mean, n), n)
