from __future__ import annotations

import pytest
from scipy import stats

from ticketlab.statistics.seeds import SeedStatistics, geometric_over_seeds, over_seeds, paired_t_test

VALUES = [0.81, 0.84, 0.80, 0.86, 0.79]
OTHERS = [0.80, 0.80, 0.78, 0.86, 0.80]


def test_the_interval_over_seeds_is_students() -> None:
    found = over_seeds(VALUES)
    assert found is not None
    expected = stats.t.interval(0.95, len(VALUES) - 1, loc=stats.tmean(VALUES), scale=stats.sem(VALUES))
    assert found.interval == pytest.approx(expected, rel=1e-12)
    assert (found.mean, found.deviation, found.seeds) == (pytest.approx(0.82), pytest.approx(stats.tstd(VALUES)), 5)


def test_two_seeds_by_hand() -> None:
    found = over_seeds([0.4, 0.6])  # deviation 0.2 / sqrt 2; the quantile with one degree of freedom is tan(0.95 pi / 2) = 12.7062
    assert found == SeedStatistics(pytest.approx(0.5), pytest.approx(0.1414214), pytest.approx((0.5 - 1.27062, 0.5 + 1.27062), abs=1e-6), 2)


@pytest.mark.parametrize(
    ("values", "deviation"),
    [
        pytest.param([0.8], None, id="one seed"),
        pytest.param([0.8, 0.8], 0.0, id="equal values"),
        pytest.param([0.1 + 0.2, 0.3, 0.3], pytest.approx(0, abs=1e-15), id="values that are equal but for rounding"),
    ],
)
def test_one_seed_and_equal_values_have_no_interval(values: list[float], deviation: float | None) -> None:
    found = over_seeds(values)
    assert found is not None
    assert (found.interval, found.deviation) == (None, deviation)


def test_no_value_has_no_statistics() -> None:
    assert over_seeds([]) is None


def test_the_paired_t_test_is_scipys() -> None:
    differences = [one - other for one, other in zip(VALUES, OTHERS, strict=True)]
    assert paired_t_test(differences) == pytest.approx(stats.ttest_rel(VALUES, OTHERS).pvalue, rel=1e-9)


@pytest.mark.parametrize("differences", [[], [0.1], [0.1, 0.1]], ids=["none", "one seed", "equal"])
def test_differences_without_a_spread_have_no_p_value(differences: list[float]) -> None:
    assert paired_t_test(differences) is None


def test_the_geometric_mean_is_the_inverse_of_that_of_the_inverse_ratios() -> None:
    found, inverse = geometric_over_seeds([2.0, 8.0, 4.0]), geometric_over_seeds([0.5, 0.125, 0.25])
    assert found is not None
    assert inverse is not None
    assert found.mean == pytest.approx(4)
    assert found.interval is not None
    assert inverse.interval == pytest.approx((1 / found.interval[1], 1 / found.interval[0]))
    assert found.interval[1] == pytest.approx(4 * 2 ** (stats.t.ppf(0.975, 2) / 3**0.5))  # log2: mean 2, deviation 1
