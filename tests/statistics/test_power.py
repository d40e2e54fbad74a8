from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.statistics.power import POWER, seeds_needed, smallest_detectable, t_test_power


@pytest.mark.parametrize(("effect", "paired", "unpaired"), [(0.2, 199, 394), (0.5, 34, 64), (0.8, 15, 26)])
def test_numbers_of_seeds_are_those_of_published_tables(effect: float, paired: int, unpaired: int) -> None:
    """Cohen's small, medium and large effects at alpha 0.05 and power 0.8 (Cohen, 1988, table 2.4.1; G*Power for paired)."""
    assert seeds_needed(effect, 1) == paired
    assert seeds_needed(effect, 1, paired=False) == unpaired


def test_two_seeds_show_a_difference_of_many_standard_errors() -> None:
    """With 1 degree of freedom T = (Z + d) / |W|, and Z matters little beside d: the power is nearly P(|W| < d / 12.706).

    It is 0.8 at the normal quantile of 0.9, which is 1.28155.
    """
    assert smallest_detectable(2, 1) == pytest.approx(12.7062 * 1.28155, rel=0.005)


def test_without_a_difference_the_power_is_alpha() -> None:
    assert t_test_power(0, 4, alpha=0.01) == pytest.approx(0.01)


@given(st.floats(0.05, 50), st.sampled_from([0.05, 0.05 / 20]), st.booleans())
def test_the_number_of_seeds_is_the_smallest_that_suffices(effect: float, alpha: float, paired: bool) -> None:
    number, groups = seeds_needed(effect, 1, paired=paired, alpha=alpha), 1 if paired else 2

    def power(seeds: int) -> float:
        return t_test_power(effect / math.sqrt(groups / seeds), groups * (seeds - 1), alpha=alpha)

    assert power(number) >= POWER
    assert number == 2 or power(number - 1) < POWER
    if paired:
        assert smallest_detectable(number, 1 / math.sqrt(number), alpha=alpha) <= effect * (1 + 1e-6)


@pytest.mark.parametrize("call", [lambda: smallest_detectable(1, 1), lambda: seeds_needed(0, 1)])
def test_what_no_seeds_can_show_is_refused(call: object) -> None:
    with pytest.raises(ValueError, match="seed"):
        call()  # type: ignore[operator]
