"""Ages and sizes are short and never round up to the next unit without saying so."""

from __future__ import annotations

import pytest

from ticketlab.core.quantities import age, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((-5, "0 s"), (0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"), (86399, "23 h")),
        *((6.9 * 86400, "6 d"), (7 * 86400, "1 wk"), (366 * 86400, "1 y")),
    ],
)
def test_an_age_is_in_its_largest_whole_unit(seconds: float, text: str) -> None:
    assert age(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9949, "9.9 kB"), (9951, "10 kB"), (999_499, "999 kB")),
        *((999_500, "1.0 MB"), (34e6, "34 MB"), (5.6e9, "5.6 GB"), (2e12, "2.0 TB"), (5e15, "5000 TB")),
    ],
)
def test_a_size_has_two_digits_or_more(number: float, text: str) -> None:
    assert size(number) == text
