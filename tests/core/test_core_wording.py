from __future__ import annotations

import pytest

from ticketlab.wording import counted


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (0, ("example",), "0 examples"),
        (1, ("example",), "1 example"),
        (2, ("example",), "2 examples"),
        (1, ("example was", "examples were"), "1 example was"),
        (3, ("example was", "examples were"), "3 examples were"),
    ],
)
def test_a_noun_goes_with_its_number(number, words, expected):
    assert counted(number, *words) == expected
