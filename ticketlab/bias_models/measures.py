"""Metrics of a bias model: accuracy, calibration and the probability of the right label.

They are not computed by scikit-learn because ``log_loss`` must floor the probabilities as the losses do, and scikit-learn has no expected
calibration error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticketlab.bias_models.probabilities import FLOOR
from ticketlab.metrics.calibration import calibration_error

BINS = 10
"""The bins of the calibration error."""


def measure(probabilities: NDArray[np.float64], labels: NDArray[np.int64], label_names: Sequence[str]) -> dict[str, Any] | None:
    """Return the metrics of probabilities (rows, classes); None if there are no rows.

    ``majority`` is the accuracy of always predicting the most frequent label. ``bias_degree`` is the mean probability of the right label,
    over all examples and for each label. ``log_loss`` is in nats, with the probabilities floored as in the losses.
    """
    if not len(labels):
        return None
    correct = np.equal(probabilities.argmax(axis=1), labels)
    right = probabilities[np.arange(len(labels)), labels]
    degrees = {name: right[labels == index] for index, name in enumerate(label_names)}
    return {
        "n": len(labels),
        "accuracy": float(correct.mean()),
        "majority": float(np.bincount(labels).max() / len(labels)),
        "log_loss": float(-np.log(np.maximum(right, FLOOR)).mean()),
        "calibration_error": calibration_error(correct, probabilities.max(axis=1), BINS),
        "bias_degree": float(right.mean()),
        "bias_degree_of": {name: float(of_label.mean()) if len(of_label) else None for name, of_label in degrees.items()},
    }
