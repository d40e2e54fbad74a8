"""Measures that can be named before anything is measured."""

from __future__ import annotations

import pytest

from ticketlab.core.errors import UsageError
from ticketlab.report.measure_names import check_measure


@pytest.mark.parametrize(
    "metric",
    [
        *("clean.accuracy", "dev.clean.macro_f1", "ood.hans.weighted_f1", "dev.clean.recall.very.good", "dev.ood.hans[a=b.c].accuracy"),
        *("attack.pwws.aua", "dev.attack.a.b.suc", "dev.attack.pwws.queries", "attack.pwws.timeouts"),
        *("cost.training_seconds", "history.finetune.dev_accuracy", "speed_up"),
    ],
)
def test_measures_that_stages_report_are_accepted(metric: str) -> None:
    check_measure(metric)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("dev.clean.accuraccy", "there is no measure `accuraccy`; did you mean `accuracy`?"),
        ("dev.clean[a=b].macrof1", "there is no measure `macrof1`; did you mean `macro_f1`?"),
        ("attack.pwws.accuracy", "there is no measure `accuracy`; available: .*`aua`"),
        ("dev.clean", "there is no measure ``; available: `accuracy`"),
        ("dev.claen.accuracy", "`claen` is no kind of metric; did you mean `clean`?"),
    ],
)
def test_others_are_refused_with_the_nearest(metric: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        check_measure(metric)
