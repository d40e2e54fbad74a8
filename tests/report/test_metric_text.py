from __future__ import annotations

import pytest

from ticketlab.report.metric_text import metric_text, split_metric


@pytest.mark.parametrize(
    ("metric", "parts"),
    [
        ("clean.accuracy", ("", "clean", "", "accuracy")),
        ("dev.ood.hans.weighted_f1", ("dev", "ood", "hans", "weighted_f1")),
        ("ood.my.data.recall.non.entailment", ("", "ood", "my.data", "recall.non.entailment")),
        ("ood.hans[heuristic=a.b].accuracy", ("", "ood", "hans[heuristic=a.b]", "accuracy")),
        ("attack.textattack:pruthi.aua", ("", "attack", "textattack:pruthi", "aua")),
        ("clean.recall.yes", ("", "clean", "", "recall.yes")),
        ("speed_up", ("", "speed_up", "", "speed_up")),
        ("dev.something", ("", "dev", "", "something")),
    ],
)
def test_a_metric_has_a_split_a_kind_a_name_and_a_measure(metric: str, parts: tuple[str, ...]) -> None:
    assert split_metric(metric) == parts


@pytest.mark.parametrize(
    ("metric", "source", "heading", "value", "text", "better"),
    [
        ("clean.accuracy", "Clean", "Acc %", 0.9123, "91.2", 1),
        ("clean.matthews", "Clean", "Matthews".lower(), 0.5, "0.500", 1),
        ("dev.clean.accuracy", "Clean (dev)", "Acc %", 0.5, "50.0", 1),
        ("attack.pwws.aua", "pwws", "Aua %", 0.1, "10.0", 1),
        ("attack.pwws.suc", "pwws", "Suc %", 0.1, "10.0", -1),
        ("attack.pwws.queries", "pwws", "#Query", 43.25, "43.2", 1),
        ("attack.pwws.similarity", "pwws", "similarity", 0.5, "0.500", 0),
        ("ood.hans.recall.yes", "hans", "recall.yes %", 0.25, "25.0", 0),
        ("sparsity.weights", "Sparsity", "weights %", 0.3, "30.0", 0),
        ("cost.training_seconds", "Cost", "Training s", 12.34, "12.3", -1),
        ("cost.parameters", "Cost", "Trained (M)", 86_534_656, "86.53", 0),
        ("latency.seconds", "Latency", "Seconds", 0.00123, "0.0012", -1),
        ("speed_up", "Cost", "Speed-up", 8.333, "8.33", 1),
    ],
)
def test_a_metric_has_headings_a_unit_and_a_direction(metric: str, source: str, heading: str, value: float, text: str, better: int) -> None:
    found = metric_text(metric)
    assert (found.source, found.heading, found.number(value), found.better) == (source, heading, text, better)
