"""Sets of predictions that metrics are tested with."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from ticketlab.metrics.base import OUTSIDE, Metric, Predictions, compute_metrics

ROWS = 60
LABELS = ("no", "maybe", "yes")


def values_of(metric: Metric) -> list[float | None]:
    """Return the value of a metric for each of the sets."""
    return [compute_metrics([metric], predictions)[metric.name] for predictions in EXAMPLES.values()]


def predictions_of(seed: int, **facts: Any) -> Predictions:
    """Return random predictions of three labels, with some fields replaced."""
    source = np.random.default_rng(seed)
    probabilities = source.dirichlet(np.ones(len(LABELS)), ROWS)
    labels = source.integers(0, len(LABELS), ROWS)
    predicted = probabilities.argmax(axis=1)
    return evolve(Predictions(labels, predicted, probabilities, probabilities.max(axis=1), LABELS), **facts)


def rows_of(predictions: Predictions, rows: Any) -> Predictions:
    """Return the predictions of some rows, in their order."""
    names = ("labels", "predicted", "probabilities", "confidence")
    return evolve(predictions, **{name: getattr(predictions, name)[rows] for name in names})


def _confident(correct: bool) -> Predictions:
    labels = np.arange(ROWS) % len(LABELS)
    return _certain(labels, labels if correct else (labels + 1) % len(LABELS), 0.98)


def _certain(labels: NDArray[np.int64], predicted: NDArray[np.int64], confidence: float) -> Predictions:
    probabilities = np.full((len(labels), len(LABELS)), (1 - confidence) / (len(LABELS) - 1))
    probabilities[np.arange(len(labels)), predicted] = confidence
    return Predictions(labels, predicted, probabilities, np.full(len(labels), confidence), LABELS)


def _outside() -> Predictions:
    """A set with two of the three labels of the model, of which the third is predicted for some rows."""
    everything = predictions_of(2)
    labels = everything.labels % 2
    return Predictions.of_set(everything.probabilities, labels.tolist(), ("no", "yes"), [[0], [2]])


def _two_labels() -> Predictions:
    probabilities = np.random.default_rng(3).dirichlet(np.ones(2), ROWS)
    labels = np.random.default_rng(4).integers(0, 2, ROWS)
    return Predictions(labels, probabilities.argmax(axis=1), probabilities, probabilities.max(axis=1), ("no", "yes"), 1)


def _one_label() -> Predictions:
    ones = np.ones((ROWS, 1))
    zeros = np.zeros(ROWS, dtype=np.int64)
    return Predictions(zeros, zeros, ones, ones[:, 0], ("yes",))


EXAMPLES = {
    "random": predictions_of(0),
    "right": _confident(True),
    "wrong": _confident(False),
    "outside": _outside(),
    "two labels": _two_labels(),
    "one label": _one_label(),
    "one class": predictions_of(5, labels=np.ones(ROWS, dtype=np.int64)),
    "one row": rows_of(predictions_of(6), slice(0, 1)),
    "certain": _certain(np.arange(ROWS) % 3, np.arange(ROWS) // 2 % 3, 1.0),
}
"""Predictions on sets, by name."""
DESCRIBED = {
    "random": "random predictions of three labels",
    "shuffled": "random predictions in another order",
    "right": "predictions that are all right",
    "wrong": "predictions that are all wrong",
    "outside": f"predictions of which some are no label of the set ({OUTSIDE})",
    "two labels": "a set with two labels, of which one is the positive one",
    "one label": "a challenge set with a single label",
    "one class": "a set whose examples all have the same label",
    "one row": "a set with one example",
    "certain": "predictions with a confidence of 1",
}
