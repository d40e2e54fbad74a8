from __future__ import annotations

import pytest

from ticketlab.statistics.holm import holm


@pytest.mark.parametrize(
    ("p_values", "corrected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([0.04], [0.04], id="one"),
        pytest.param([0.01, 0.04, 0.03], [0.03, 0.06, 0.06], id="3 x 0.01, 2 x 0.03, and 0.04 is not below the one before"),
        pytest.param([0.5, 0.9], [1.0, 1.0], id="at most 1"),
        pytest.param([0.02, None, 0.01], [0.02, None, 0.02], id="missing ones do not count"),
        pytest.param([0.02, 0.02], [0.04, 0.04], id="equal"),
    ],
)
def test_holm(p_values: list[float | None], corrected: list[float | None]) -> None:
    assert holm(p_values) == [value if value is None else pytest.approx(value) for value in corrected]
