"""The one test of comparisons and verdicts: the bootstrap and the t test together."""

from __future__ import annotations

from math import atan, pi, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ticketlab.statistics.bootstrap import paired_bootstrap
from ticketlab.statistics.paired import (
    BOOTSTRAP,
    BOTH_TESTS,
    MCNEMAR,
    ONE_SEED,
    SAME_DIFFERENCE,
    T_TEST,
    Outcomes,
    compare_outcomes,
    compare_values,
)

VALUES, OTHERS = [0.81, 0.84, 0.80, 0.86, 0.79], [0.80, 0.80, 0.78, 0.86, 0.80]


def right(count: int, n: int = 100) -> Outcomes:
    """Return the outcomes of n examples, of which the first ones are right."""
    return {str(number): int(number < count) for number in range(n)}


def pairs(*counts: tuple[int, int]) -> dict[int, tuple[Outcomes, Outcomes]]:
    """Return the outcomes of two models by seed, from their numbers of right examples of 100."""
    return {seed: (right(one), right(other)) for seed, (one, other) in enumerate(counts)}


@pytest.mark.parametrize("null", [0.0, 0.03])
def test_values_are_compared_by_scipys_paired_t_test(null: float) -> None:
    found = compare_values(dict(enumerate(zip(VALUES, OTHERS, strict=True))), null=null)
    expected = stats.ttest_rel(VALUES, [other + null for other in OTHERS])
    assert (found.test, found.seeds, found.p) == (T_TEST, (0, 1, 2, 3, 4), pytest.approx(expected.pvalue))
    interval = expected.confidence_interval()
    assert found.interval == pytest.approx((interval.low + null, interval.high + null))
    assert (found.first, found.second, found.difference) == (pytest.approx(0.82), pytest.approx(0.808), pytest.approx(0.012))


def test_the_t_test_decides_where_seeds_differ() -> None:
    """Differences of 20 and 10 points: t = 15 / 5 with one degree of freedom, and the quantile is 12.7062."""
    found = compare_outcomes(pairs((80, 60), (70, 60)))
    assert found is not None
    assert (found.test, found.examples, found.p) == (BOTH_TESTS, 100, pytest.approx(1 - 2 * atan(3) / pi))
    assert found.interval == pytest.approx((0.15 - 12.7062 * 0.05, 0.15 + 12.7062 * 0.05), abs=1e-6)
    assert (found.deviation, found.standard_error) == (pytest.approx(0.1 / sqrt(2)), pytest.approx(0.05))


def test_the_bootstrap_decides_where_examples_differ() -> None:
    """The differences are 4, 4 and 5 of 100, and t = 13 with two degrees of freedom, so p = 0.006. A resample has no difference if it has
    none of the 4 examples, and of the 5 if seed 2 is drawn, which it is not with probability 8/27. The means over seeds have a variance
    of (4 + 1/9) / 100 - 0.0433 squared over examples."""
    counts = pairs((64, 60), (64, 60), (65, 60))
    found, bootstrap = compare_outcomes(counts), paired_bootstrap(list(counts.values()))
    assert found is not None
    assert bootstrap is not None
    assert found.p == pytest.approx(2 * (8 / 27 * 0.96**100 + 19 / 27 * 0.95**100), abs=0.005)
    assert found.standard_error == pytest.approx(sqrt((0.0411 - 0.0433**2) / 100), rel=0.05)
    assert found.interval == bootstrap.interval


def test_the_sum_of_parts_is_compared_as_their_mean() -> None:
    once, twice = (
        compare_outcomes(pairs((80, 60), (70, 60)), null=0.1),
        compare_outcomes(
            {
                seed: ({example: 2 * right for example, right in one.items()}, {example: 2 * right for example, right in other.items()})
                for seed, (one, other) in pairs((80, 60), (70, 60)).items()
            },
            null=0.1,
            parts=2,
        ),
    )
    assert once is not None
    assert once.p == pytest.approx(0.5)  # t = (15 - 10) / 5 = 1 with one degree of freedom: 1 - 2 atan(1) / pi
    assert once == twice


@pytest.mark.parametrize(("more", "test"), [({}, MCNEMAR), ({"null": 0.01}, BOOTSTRAP), ({"parts": 2}, BOOTSTRAP)])
def test_one_seed_is_about_its_examples_alone(more: dict[str, float], test: str) -> None:
    found = compare_outcomes(pairs((66, 60)), **more)  # type: ignore[arg-type]
    assert found is not None
    assert (found.test, found.deviation, found.standard_error, found.reason) == (test, None, None, "")
    assert found.interval is not None
    if test == MCNEMAR:
        assert found.p == pytest.approx(2 / 2**6)


@pytest.mark.parametrize("counts", [((80, 60), (70, 50)), ((60, 60), (70, 70))])
def test_the_same_difference_with_every_seed_has_no_test(counts: tuple[tuple[int, int], ...]) -> None:
    found = compare_outcomes(pairs(*counts))
    assert found is not None
    assert (found.test, found.p, found.interval, found.reason) == ("", None, None, SAME_DIFFERENCE)
    assert compare_values({0: (0.8, 0.6)}).reason == ONE_SEED


def test_seeds_and_examples_that_only_one_side_has_do_not_count() -> None:
    absent = {"another": 1}
    found = compare_outcomes({**pairs((80, 60), (70, 60)), 7: (right(3), absent), 8: ({**right(90), **absent}, right(60))})
    assert found is not None
    assert (found.seeds, found.examples, found.left_out) == ((0, 1, 8), 100, 1)
    assert found.difference == pytest.approx((0.2 + 0.1 + 0.3) / 3)
    assert compare_outcomes({0: (right(1), absent)}) is None
    with pytest.raises(ValueError, match="no seed to compare"):
        compare_values({})


OUTCOMES = st.lists(st.tuples(st.lists(st.booleans(), min_size=6, max_size=6), st.lists(st.booleans(), min_size=6, max_size=6)), min_size=2)


@given(OUTCOMES)
def test_it_is_never_more_certain_than_the_t_test_and_symmetric(seeds: list[tuple[list[bool], list[bool]]]) -> None:
    as_outcomes = {
        seed: ({str(n): int(found) for n, found in enumerate(one)}, {str(n): int(found) for n, found in enumerate(other)})
        for seed, (one, other) in enumerate(seeds)
    }
    found = compare_outcomes(as_outcomes, resamples=200)
    swapped = compare_outcomes({seed: (other, one) for seed, (one, other) in as_outcomes.items()}, resamples=200)
    by_seed = compare_values({seed: (sum(one) / 6, sum(other) / 6) for seed, (one, other) in enumerate(seeds)})
    assert found is not None
    assert swapped is not None
    assert (found.p is None) == (by_seed.p is None) == (found.interval is None)
    if found.p is not None and by_seed.p is not None and found.interval is not None and by_seed.interval is not None:
        assert found.p >= by_seed.p - 1e-9
        assert swapped.p == pytest.approx(found.p)
        assert found.interval[0] <= by_seed.interval[0] + 1e-9
        assert by_seed.interval[1] <= found.interval[1] + 1e-9
        assert swapped.interval == pytest.approx((-found.interval[1], -found.interval[0]))


def test_differences_that_differ_by_the_rounding_of_their_terms_are_the_same() -> None:
    """0.7 + 0.1 and 0.8 differ in the last bit, so the differences are 1e-16, 0 and 0."""
    found = compare_values({0: (0.7 + 0.1, 0.8), 1: (0.8, 0.8), 2: (0.6, 0.6)}, null=-0.01)
    assert found.difference != 0
    assert (found.p, found.interval, found.reason) == (None, None, SAME_DIFFERENCE)
