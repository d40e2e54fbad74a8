"""The interval of a fraction of examples."""

from __future__ import annotations

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
