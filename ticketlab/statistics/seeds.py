"""The mean of a number over seeds, its deviation, and Student's interval of the mean."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from attrs import frozen

from ticketlab.core.intervals import student

SAME = 1e-12
"""Values are equal if their deviation is at most this fraction of the largest, or of the numbers that they were computed from: means of
equal values, and differences of means, differ by rounding."""


@frozen
class SeedStatistics:
    """A number over seeds.

    ``deviation`` is the sample standard deviation (with n - 1 degrees of freedom), None for one seed. ``interval`` is Student's 95 %
    interval of the mean over all possible seeds; None for one seed, and if all values are equal, since the spread is then unknown rather
    than zero.
    """

    mean: float
    deviation: float | None
    interval: tuple[float, float] | None
    seeds: int


def over_seeds(values: Sequence[float], *, magnitude: float = 0.0) -> SeedStatistics | None:
    """Return the statistics of one value per seed, or None if there is no value. Values must be independent: one per *distinct* seed.

    ``magnitude`` is that of the numbers of which the values are differences.
    """
    if not values:
        return None
    mean = statistics.fmean(values)
    if len(values) == 1:
        return SeedStatistics(mean, None, None, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))  # statistics.stdev is far slower
    interval = None if _are_equal(deviation, values, magnitude) else student(mean, deviation, len(values))
    return SeedStatistics(mean, deviation, interval, len(values))


def paired_t_test(differences: Sequence[float], null: float = 0.0, *, magnitude: float = 0.0) -> float | None:
    """Return the two-sided p value of the paired t test that the mean difference is ``null``; None for fewer than two or equal differences.

    It is that of ``scipy.stats.ttest_rel``, and assumes that the differences are normally distributed over seeds. ``magnitude`` is that of
    the numbers that were subtracted.
    """
    if len(differences) < 2:
        return None
    deviation = statistics.stdev(differences)
    if _are_equal(deviation, differences, magnitude):
        return None
    from scipy.special import stdtr  # scipy.stats takes three times as long to import

    t = (statistics.fmean(differences) - null) / (deviation / math.sqrt(len(differences)))
    return float(2 * stdtr(len(differences) - 1, -abs(t)))


def geometric_over_seeds(ratios: Sequence[float]) -> SeedStatistics | None:
    """Return the geometric mean of positive ratios, one per seed; its interval is Student's of their logarithms, and there is no deviation.

    So the ratio of A to B is the inverse of that of B to A, and so are the bounds.
    """
    logarithms = over_seeds([math.log(ratio) for ratio in ratios])
    if logarithms is None:
        return None
    interval = logarithms.interval and (math.exp(logarithms.interval[0]), math.exp(logarithms.interval[1]))
    return SeedStatistics(math.exp(logarithms.mean), None, interval, logarithms.seeds)


def _are_equal(deviation: float, values: Sequence[float], magnitude: float) -> bool:
    return deviation <= SAME * max(magnitude, *(abs(value) for value in values))
