from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy import stats

from ticketlab.statistics import bootstrap
from ticketlab.statistics.bootstrap import paired_bootstrap

Outcomes = dict[str, int]


def outcomes(text: str, first: int = 0) -> Outcomes:
    """Return outcomes by the number of the example; a space is an example without one."""
    return {str(number): int(outcome) for number, outcome in enumerate(text, start=first) if outcome != " "}


def random_pairs(seeds: int, examples: int, shares: tuple[float, float]) -> list[tuple[Outcomes, Outcomes]]:
    generator = np.random.default_rng(7)
    draw = lambda share: {str(number): int(value) for number, value in enumerate(generator.random(examples) < share)}  # noqa: E731
    return [(draw(shares[0]), draw(shares[1])) for _ in range(seeds)]


def all_resamples(pairs: list[tuple[str, str]]) -> list[float]:
    """Return the difference in every possible resample of seeds and examples, each of which is equally probable."""
    differences = np.array([[int(one) - int(other) for one, other in zip(*pair, strict=True)] for pair in pairs])
    seeds, examples = (range(size) for size in differences.shape)
    return [
        float(differences[np.ix_(drawn_seeds, drawn_examples)].mean())
        for drawn_seeds in itertools.product(seeds, repeat=len(seeds))
        for drawn_examples in itertools.product(examples, repeat=len(examples))
    ]


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([("1101", "0100"), ("1011", "1000")], id="two seeds"),
        pytest.param([("110", "001"), ("111", "000"), ("010", "010")], id="three seeds"),
        pytest.param([("11010", "01001")], id="one seed"),
    ],
)
@pytest.mark.parametrize("kept", [0, 1000], ids=["patterns are drawn", "each example is drawn"])
def test_resamples_have_the_distribution_of_all_possible_resamples(
    pairs: list[tuple[str, str]], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "KEPT_EXAMPLES", kept)
    found = paired_bootstrap([(outcomes(one), outcomes(other)) for one, other in pairs], resamples=40_000)
    exact = np.array(all_resamples(pairs))
    assert found is not None
    below, above = (exact <= 1e-9).mean(), (exact >= -1e-9).mean()
    assert found.p == pytest.approx(min(1, 2 * min(below, above)), abs=0.01)
    assert found.interval is not None
    for bound, level in zip(found.interval, (0.025, 0.975), strict=True):
        assert (exact < bound - 1e-9).mean() - 0.005 <= level <= (exact <= bound + 1e-9).mean() + 0.005  # is such a quantile


@pytest.mark.parametrize("examples", [400, 2000], ids=["each example is drawn", "patterns are drawn"])
def test_with_one_seed_it_is_scipys_percentile_bootstrap_of_paired_examples(examples: int) -> None:
    ((first, second),) = random_pairs(1, examples, (0.8, 0.7))
    found = paired_bootstrap([(first, second)])
    differences = [first[example] - second[example] for example in first]
    expected = stats.bootstrap((differences,), np.mean, method="percentile", n_resamples=10_000, random_state=1).confidence_interval
    assert found is not None
    assert found.difference == pytest.approx(np.mean(differences))
    assert found.interval == pytest.approx((expected.low, expected.high), abs=0.004)


def test_the_interval_covers_seeds_and_examples() -> None:
    """For models without an effect of seeds or examples of their own, the deviation is that of seeds x examples independent outcomes;
    drawn seeds and examples both add to it: var = s^2 / (seeds examples) (1 + 1 + 1) approximately (Owen, 2007)."""
    seeds, examples = 20, 500
    found = paired_bootstrap(random_pairs(seeds, examples, (0.5, 0.5)))
    assert found is not None
    assert found.interval is not None
    deviation = (found.interval[1] - found.interval[0]) / (2 * 1.96)
    assert deviation == pytest.approx((3 * 0.5 / (seeds * examples)) ** 0.5, rel=0.15)


@pytest.mark.parametrize("examples", [200, 1200])
def test_equal_input_gives_equal_output_in_any_order_of_examples(examples: int) -> None:
    pairs = random_pairs(3, examples, (0.8, 0.7))
    turned = [({key: one[key] for key in reversed(one)}, {key: other[key] for key in reversed(other)}) for one, other in pairs]
    assert paired_bootstrap(pairs) == paired_bootstrap(turned)


def test_examples_that_only_one_model_has_with_a_seed_do_not_count() -> None:
    """Seed 0 compares examples 1 and 2 (1 less 0, 1 less 1), seed 1 examples 0 to 2; example 3 is never compared."""
    found = paired_bootstrap([(outcomes(" 111"), outcomes("001")), (outcomes("110"), outcomes("000"))])
    assert found is not None
    assert (found.first, found.second) == (pytest.approx((1 + 2 / 3) / 2), pytest.approx((1 / 2 + 0) / 2))
    assert found.difference == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert (found.examples, found.left_out) == (3, 1)


def test_models_without_a_common_example_are_not_compared() -> None:
    assert paired_bootstrap([(outcomes("11"), outcomes("11", first=5))]) is None
    assert paired_bootstrap([]) is None


def test_equal_outcomes_have_no_interval() -> None:
    found = paired_bootstrap([(outcomes("1101"), outcomes("1101"))] * 2)
    assert found is not None
    assert (found.difference, found.interval, found.p) == (0, None, 1)


def test_ten_thousand_resamples_of_five_seeds_take_about_a_second() -> None:
    pairs = random_pairs(5, 1000, (0.8, 0.7))  # independent outcomes have the most patterns
    started = time.process_time()
    paired_bootstrap(pairs)
    assert time.process_time() - started < 2
