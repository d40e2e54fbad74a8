"""Power of the t test: the smallest difference that n seeds can show, and the seeds that a difference needs (Cohen, 1988, chapter 2).

A test of n paired seeds rejects with probability P(abs(T) > t), where T has the noncentral t distribution with n - 1 degrees of freedom and
the noncentrality difference / standard error, and t is the two-sided critical value at ``alpha``.
"""

from __future__ import annotations

import math

ALPHA = 0.05
POWER = 0.8


def t_test_power(noncentrality: float, degrees_of_freedom: float, *, alpha: float = ALPHA) -> float:
    """Return the power of a two-sided t test: the probability that it rejects if the true difference has this noncentrality."""
    from scipy.special import stdtrit  # scipy.stats takes three times as long to import

    critical = float(stdtrit(degrees_of_freedom, 1 - alpha / 2))
    up_to, below = (_probability_below(bound, degrees_of_freedom, abs(noncentrality)) for bound in (critical, -critical))
    return 1 - up_to + below


def _probability_below(bound: float, degrees_of_freedom: float, noncentrality: float) -> float:
    """Return P(T < bound) of the noncentral t distribution."""
    from scipy.special import nctdtr

    found = float(nctdtr(degrees_of_freedom, noncentrality, bound))
    return 0.0 if math.isnan(found) else found  # NaN stands for probabilities that are too small to compute


def smallest_detectable(seeds: int, standard_error: float, *, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return the smallest true difference that the paired t test shows with this power, in the unit of ``standard_error``.

    ``standard_error`` is that of the mean difference over the paired seeds.

    :raises ValueError: there are fewer than two seeds, whose deviation is unknown.
    """
    from scipy.optimize import brentq

    if seeds < 2:
        raise ValueError(f"the paired t test needs at least 2 seeds, not {seeds}")
    upper = 1.0
    while t_test_power(upper, seeds - 1, alpha=alpha) < power:
        upper *= 2
    found = brentq(lambda noncentrality: t_test_power(noncentrality, seeds - 1, alpha=alpha) - power, 0, upper)
    return float(found) * standard_error


def seeds_needed(difference: float, deviation: float, *, paired: bool = True, alpha: float = ALPHA, power: float = POWER) -> int:
    """Return the number of seeds with which the t test shows a true difference with this power.

    For the paired test ``deviation`` is the standard deviation over seeds of the paired differences. For the unpaired one it is that of
    each of two groups, which is the same in both, and the number is that of each group.

    :raises ValueError: ``difference`` is 0, which no number of seeds shows.
    """
    if difference == 0:
        raise ValueError("no number of seeds shows a difference of 0")

    def suffices(seeds: int) -> bool:
        groups = 1 if paired else 2
        standard_error = deviation * math.sqrt(groups / seeds)
        return standard_error == 0 or t_test_power(difference / standard_error, groups * (seeds - 1), alpha=alpha) >= power

    enough = 2
    while not suffices(enough):
        enough *= 2
    too_few = max(1, enough // 2)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if suffices(middle) else (middle, enough)
    return enough
