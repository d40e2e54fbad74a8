from __future__ import annotations

import pytest

from ticketlab.core.intervals import wilson
from ticketlab.report.statistics import Measure, deviation, summarise


@pytest.mark.parametrize(
    ("share", "n", "low", "high"),
    [
        pytest.param(0.5, 100, 0.403832, 0.596168, id="half"),  # 0.5 -+ z sqrt(0.25/n + z^2/4n^2) / (1 + z^2/n), z^2 = 3.841459
        pytest.param(0.0, 10, 0.0, 3.841459 / 13.841459, id="none: z^2 / (n + z^2)"),
        pytest.param(1.0, 10, 10 / 13.841459, 1.0, id="all: n / (n + z^2)"),
        pytest.param(0.9, 10, 0.595850, 0.982124, id="nine of ten"),
    ],
)
def test_wilson_interval(share: float, n: int, low: float, high: float) -> None:
    found = wilson(share, n)
    assert found == pytest.approx((low, high), abs=1e-6)


def test_the_wilson_interval_of_no_examples_is_none() -> None:
    assert wilson(0.0, 0) is None


def test_deviation_divides_by_n_minus_one() -> None:
    assert deviation([0.8, 0.9, 1.0]) == pytest.approx(0.1)
    assert deviation([0.8]) is None


def test_the_interval_of_a_mean_is_that_of_one_seed() -> None:
    found = summarise([0.4, 0.5, 0.6], [100, 100, 100])
    assert found is not None
    assert found.n == 100
    assert found.interval == wilson(found.mean, 100)


def test_seeds_without_a_value_are_ignored() -> None:
    assert summarise([None, 0.5]) == Measure(0.5)
    assert summarise([None]) is None
    assert summarise([]) is None
