from __future__ import annotations

import pytest

from ticketlab.pages.number_cells import interval_text
from ticketlab.report.metric_text import metric_text


@pytest.mark.parametrize(
    ("metric", "interval", "signed", "text"),
    [
        ("clean.accuracy", (-0.1, 1.2), False, "(0.0 to 100.0)"),
        ("clean.accuracy", (-1.1, 0.2), True, "(-100.0 to 20.0)"),
        ("attack.pwws.queries", (-2.0, 120.0), False, "(0.0 to 120.0)"),
        ("attack.pwws.queries", (-2.0, 120.0), True, "(-2.0 to 120.0)"),
        ("attack.pwws.similarity", (-1.5, 1.5), False, "(-1.000 to 1.000)"),
        ("attack.pwws.similarity", (-2.5, 1.5), True, "(-2.000 to 1.500)"),
        ("clean.matthews", (-0.5, 1.5), False, "(-0.500 to 1.000)"),
        ("latency.seconds", (-0.1, 0.2), False, "(0.0000 to 0.2000)"),
        ("cost.training_seconds", (-1.0, 2.0), False, "(0.0 to 2.0)"),
        ("cost.parameters", (-1e6, 2e6), False, "(0.00 to 2.00)"),
        ("attack.pwws.timeouts", (-1.0, 2.0), False, "(0.0 to 2.0)"),
        ("speed_up", (-1.0, 2.0), False, "(0.00 to 2.00)"),
        ("looks.search.slope", (-1.0, 2.0), False, "(-1.000 to 2.000)"),
    ],
)
def test_intervals_end_where_values_become_impossible(metric: str, interval: tuple[float, float], signed: bool, text: str) -> None:
    assert interval_text(interval, metric_text(metric), signed=signed) == text
