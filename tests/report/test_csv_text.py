from __future__ import annotations

from typing import Any

import pytest

from ticketlab.report.csv_text import csv_cell


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1+1", "'+1+1"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1", "' =1"),
        ("\t=1", r"\t=1"),
        ("\r=1", r"\r=1"),
        ("two\nlines", "two\nlines"),
        ("-0.5", "-0.5"),
        ("+1e-3", "+1e-3"),
        ("a=b", "a=b"),
        (-0.5, -0.5),
        (None, ""),
    ],
)
def test_text_that_a_spreadsheet_would_compute_is_marked_as_text(value: Any, cell: Any) -> None:
    assert csv_cell(value) == cell
