"""The test of a difference that is measured with several seeds, on the same examples with each of them.

The paired bootstrap takes the choice of seeds and of examples into account, but with few seeds its intervals are too narrow: n drawn seeds
have (n - 1) / n of the variance of seeds. The paired t test is right for few seeds, but knows nothing of examples. A difference therefore
has to pass both: the p value is the larger one, and the interval has both intervals.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping
from typing import Literal

from attrs import evolve, frozen

from ticketlab.statistics.bootstrap import paired_bootstrap
from ticketlab.statistics.mcnemar import mcnemar
from ticketlab.statistics.seeds import over_seeds, paired_t_test

Test = Literal["", "paired bootstrap and paired t test", "paired t test", "exact McNemar test", "paired bootstrap"]
BOTH_TESTS: Test = "paired bootstrap and paired t test"
T_TEST: Test = "paired t test"
MCNEMAR: Test = "exact McNemar test"
BOOTSTRAP: Test = "paired bootstrap"
SAME_DIFFERENCE = "the difference is the same with every seed, so its spread is unknown"
ONE_SEED = "one seed says nothing about others"
RESAMPLES = 10_000

Outcomes = Mapping[str, int]
"""0 or 1 by the id of the example, or a sum of several of these."""


@frozen(kw_only=True)
class PairedDifference:
    """The difference of two methods and its test.

    ``first`` and ``second`` are means over the ``seeds`` (and the ``examples`` that were compared with any of them), and ``difference`` is
    the first less the second. ``deviation`` is the sample standard deviation of the differences over seeds, and ``standard_error`` that of
    their mean: the larger one of the t test and the bootstrap. Both are None for one seed. ``interval`` is the 95 % interval of the
    difference and ``p`` the two-sided p value; ``test`` says which test they come from. Without a test they are None, and ``reason`` says
    why. ``examples`` is None and ``left_out`` 0 for a test over seeds only; ``left_out`` counts the examples of either that were not
    compared.
    """

    first: float
    second: float
    difference: float
    deviation: float | None = None
    standard_error: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    test: Test = ""
    seeds: tuple[int, ...] = ()
    examples: int | None = None
    left_out: int = 0
    reason: str = ""

    def without_test(self, reason: str) -> PairedDifference:
        """Return the difference and its deviation alone, with the reason why there is no test."""
        return evolve(self, interval=None, p=None, test="", reason=reason)


def compare_values(pairs: Mapping[int, tuple[float, float]], *, null: float = 0.0) -> PairedDifference:
    """Compare two values per seed, by seed, by the paired t test that their mean difference is ``null``.

    There is no test of one seed, or if the difference is the same with every seed.

    :raises ValueError: there is no seed.
    """
    differences = [first - second for first, second in pairs.values()]
    magnitude = max((abs(value) for pair in pairs.values() for value in pair), default=0.0)
    found = over_seeds(differences, magnitude=magnitude)
    if found is None:
        raise ValueError("no seed to compare")
    p = paired_t_test(differences, null, magnitude=magnitude)
    return PairedDifference(
        first=statistics.fmean(first for first, _ in pairs.values()),
        second=statistics.fmean(second for _, second in pairs.values()),
        difference=found.mean,
        deviation=found.deviation,
        standard_error=None if found.deviation is None else found.deviation / math.sqrt(found.seeds),
        interval=found.interval,
        p=p,
        test="" if p is None else T_TEST,
        seeds=tuple(pairs),
        reason="" if p is not None else SAME_DIFFERENCE if len(pairs) > 1 else ONE_SEED,
    )


def compare_outcomes(
    pairs: Mapping[int, tuple[Outcomes, Outcomes]], *, null: float = 0.0, parts: int = 1, resamples: int = RESAMPLES
) -> PairedDifference | None:
    """Compare two outcomes of each example, by seed; None if no seed has an example with both.

    Two or more seeds are compared by the paired bootstrap over seeds and examples together with the paired t test over seeds. There is no
    test if the difference is the same with every seed. One seed is compared by the exact McNemar test, or by the bootstrap over examples if
    there are ``parts`` or a ``null``; its interval is that of the bootstrap.

    With ``parts`` each outcome is the sum of as many outcomes, and all results are those of their mean: means themselves would be rounded,
    so that equal resamples might differ. ``null`` is the difference (of means) under the null hypothesis. Examples that only one side has
    with a seed are left out, and so are seeds without any other.
    """
    bootstrap = paired_bootstrap(list(pairs.values()), null=parts * null, resamples=resamples)
    if bootstrap is None:
        return None
    shared = {seed: both for seed, (first, second) in pairs.items() if (both := first.keys() & second.keys())}
    means = {seed: (_mean(pairs[seed][0], both) / parts, _mean(pairs[seed][1], both) / parts) for seed, both in shared.items()}
    found = evolve(compare_values(means, null=null), examples=bootstrap.examples, left_out=bootstrap.left_out)
    bootstrapped = bootstrap.interval and (bootstrap.interval[0] / parts, bootstrap.interval[1] / parts)
    if len(means) == 1:
        exact = parts == 1 and not null
        p = mcnemar(*pairs[next(iter(means))]).p if exact else bootstrap.p
        return evolve(found, interval=bootstrapped, p=p, test=MCNEMAR if exact else BOOTSTRAP, reason="")
    if found.p is None or found.standard_error is None:
        return found
    intervals = [interval for interval in (found.interval, bootstrapped) if interval is not None]
    return evolve(
        found,
        interval=(min(low for low, _ in intervals), max(high for _, high in intervals)),
        standard_error=max(found.standard_error, bootstrap.standard_error / parts),
        p=max(found.p, bootstrap.p),
        test=BOTH_TESTS,
    )


def _mean(outcomes: Outcomes, examples: Collection[str]) -> float:
    return statistics.fmean(outcomes[example] for example in examples)
