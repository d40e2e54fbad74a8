from __future__ import annotations

import numpy as np
import pytest

from ticketlab.metrics.base import Predictions
from ticketlab.metrics.calibration import Calibration


def predictions(confidences: list[float], right: list[bool]) -> Predictions:
    """Return predictions of the first of two labels, where the second is the label of those that are wrong."""
    probabilities = np.array([[confidence, 1 - confidence] for confidence in confidences])
    return Predictions.of_set(probabilities, [0 if correct else 1 for correct in right], ["a", "b"], [[0], [1]])


@pytest.mark.parametrize(
    ("bins", "expected"),
    [
        # (0.4, 0.6]: two of four examples, all right, mean confidence 0.575; (0.6, 0.8]: |0 - 0.8|; (0.8, 1]: |1 - 0.9|
        (5, 0.425 * 2 / 4 + 0.8 / 4 + 0.1 / 4),
        (1, abs(3 / 4 - (0.9 + 0.8 + 0.6 + 0.55) / 4)),  # accuracy less mean confidence
    ],
)
def test_the_error_is_the_mean_gap_of_the_bins(bins: int, expected: float) -> None:
    found = Calibration(bins=bins).compute(predictions([0.9, 0.8, 0.6, 0.55], [True, False, True, True]))
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_certain_predictions_are_calibrated_if_they_are_right(bins: int) -> None:
    assert Calibration(bins=bins).compute(predictions([1.0, 1.0], [True, True])) == 0
    assert Calibration(bins=bins).compute(predictions([1.0, 1.0], [False, False])) == 1


def test_a_confidence_on_the_edge_of_two_bins_belongs_to_the_lower_one() -> None:
    # in (0.6, 0.7] with its right neighbour they are |1 - 0.68| * 2; in different bins they would be 0.3 + 0.34
    found = Calibration(bins=10).compute(predictions([0.7, 0.66], [True, False]))
    assert found == pytest.approx(abs(1 - 1.36) / 2, abs=1e-12)
