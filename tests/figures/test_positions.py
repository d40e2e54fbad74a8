import pytest

from ticketlab.figures.positions import as_number, domain, is_geometric


@pytest.mark.parametrize(
    ("text", "number"), [("0.3", 0.3), ("1e-4", 1e-4), ("1/4", 0.25), ("1/0", None), ("none", None), ("inf", None), ("nan", None)]
)
def test_levels_are_numbers_or_not(text, number):
    assert as_number(text) == number


@pytest.mark.parametrize(
    ("values", "geometric"),
    [
        ((0.1, 0.2, 0.3), False),
        ((0.1, 1, 10), True),
        ((1, 2, 4), True),
        ((0.1, 0.5, 1, 5, 10), True),  # unequal ratios over a wide range
        (tuple(range(1, 40)), False),
        ((0, 1, 10), False),
        ((1, 10), False),  # two values show no pattern
    ],
)
def test_geometric_levels_are_recognised(values, geometric):
    assert is_geometric(values) is geometric


@pytest.mark.parametrize(
    ("low", "high", "bounds", "expected"),
    [
        pytest.param(2, 38, (0, 100), (0, 40), id="starts-at-zero"),
        pytest.param(84, 93, (0, 100), (82, 94), id="zoomed"),
        pytest.param(97, 100, (0, 100), (96, 100), id="within-the-bounds"),
        pytest.param(-0.5, 0.2, (-1, 1), (-0.6, 0.4), id="negative"),
        pytest.param(0, 0, None, (0, 0.2), id="only-zero"),
        pytest.param(50, 50, (0, 100), (40, 60), id="one-value"),
    ],
)
def test_an_axis_ends_on_round_numbers(low, high, bounds, expected):
    assert domain([low], [high], bounds) == pytest.approx(expected)
