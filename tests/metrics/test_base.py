"""Predictions on sets with the model's labels and with others, and the checks of what metrics are and return."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from attrs import frozen

from ticketlab.core.errors import PluginError
from ticketlab.metrics.base import OUTSIDE, Metric, Predictions, compute_metrics

PROBABILITIES = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]])
"""Of the labels entailment, neutral and contradiction."""


def test_labels_of_the_model_that_mean_one_of_the_set_are_summed() -> None:
    found = Predictions.of_set(PROBABILITIES, [0, 1, 0], ["entailment", "non-entailment"], [[0], [1, 2]])
    assert found.predicted.tolist() == [0, 1, 1]
    assert found.probabilities == pytest.approx(np.array([[0.5, 0.5], [0.3, 0.7], [0.1, 0.9]]))
    assert found.confidence.tolist() == pytest.approx([0.5, 0.7, 0.9])
    assert found.correct.tolist() == [True, True, False]


def test_a_prediction_that_is_no_label_of_the_set_keeps_the_confidence_of_the_model() -> None:
    found = Predictions.of_set(PROBABILITIES, [0, 1, 1], ["entailment", "contradiction"], [[0], [2]])
    assert found.predicted.tolist() == [0, OUTSIDE, 1]
    assert found.confidence.tolist() == pytest.approx([0.5, 0.4, 0.8])
    assert found.correct.tolist() == [True, False, True]


def test_a_metric_cannot_change_what_the_next_one_gets() -> None:
    found = Predictions.of_set(PROBABILITIES, [0, 1, 2], ["entailment", "neutral", "contradiction"], [[0], [1], [2]])
    for values in (found.labels, found.predicted, found.probabilities, found.confidence):
        with pytest.raises(ValueError, match="read-only"):
            values.fill(0)


def metric_with(**facts: Any) -> type[Metric]:
    own: dict[str, Any] = {"name": "mine", "summary": "a metric", "better": "higher", **facts}
    return frozen(type("Mine", (Metric,), own))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"better": "more"}, '^Mine.better must be "higher" or "lower"'),
        ({"name": "top.two"}, "`top.two` cannot be the name of a metric"),
        ({"name": "accuracy"}, "`accuracy` cannot be the name of a metric"),
        ({"variant": "bins"}, "no variants"),
    ],
)
def test_a_metric_that_results_cannot_show_is_refused(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        metric_with(**facts)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0.5", "returned '0.5'; `compute` must return a finite number"),
        (float("nan"), "returned nan"),
        (True, "returned True"),
        (1.5, "returned 1.5, which is outside its limits, 0 to 1"),
    ],
)
def test_a_value_that_is_no_number_is_refused(value: Any, message: str) -> None:
    metric = metric_with(compute=lambda *_: value, limits=(0, 1))()
    predictions = Predictions.of_set(PROBABILITIES, [0, 1, 2], ["a", "b", "c"], [[0], [1], [2]])
    with pytest.raises(PluginError, match=f"^the metric `mine` {message}"):
        compute_metrics([metric], predictions)


def test_numpy_numbers_and_none_are_values() -> None:
    @frozen
    class Rows(Metric):
        name: ClassVar[str] = "rows"
        summary: ClassVar[str] = "number of rows"
        better: ClassVar[Literal["higher", "lower"]] = "higher"

        def compute(self, predictions: Predictions) -> float | None:
            return np.float64(len(predictions.labels)) if len(predictions.labels) > 2 else None

    all_labels: list[list[int]] = [[0], [1], [2]]
    several = Predictions.of_set(PROBABILITIES, [0, 1, 2], ["a", "b", "c"], all_labels)
    one = Predictions.of_set(PROBABILITIES[:1], [0], ["a", "b", "c"], all_labels)
    assert compute_metrics([Rows()], several) == {"rows": 3.0}
    assert type(compute_metrics([Rows()], several)["rows"]) is float
    assert compute_metrics([Rows()], one) == {"rows": None}
