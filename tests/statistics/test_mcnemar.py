from __future__ import annotations

import pytest

from ticketlab.statistics.mcnemar import McNemar, mcnemar


def outcomes(text: str, first: int = 0) -> dict[str, int]:
    return {str(number): int(outcome) for number, outcome in enumerate(text, start=first)}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param("11111100", "00000110", McNemar(5, 1, 8, 14 / 64), id="2 (1 + 6) / 2^6"),
        pytest.param("111111", "000000", McNemar(6, 0, 6, 2 / 64), id="2 / 2^6"),
        pytest.param("1100", "0011", McNemar(2, 2, 4, 1.0), id="as many of each"),
        pytest.param("1100", "1100", McNemar(0, 0, 4, 1.0), id="no example differs"),
    ],
)
def test_the_exact_test(first: str, second: str, expected: McNemar) -> None:
    found = mcnemar(outcomes(first), outcomes(second))
    assert (found.only_first, found.only_second, found.examples) == (expected.only_first, expected.only_second, expected.examples)
    assert found.p == pytest.approx(expected.p)


def test_only_shared_examples_count() -> None:
    assert mcnemar(outcomes("111"), outcomes("0000", first=2)) == McNemar(1, 0, 1, 1.0)
