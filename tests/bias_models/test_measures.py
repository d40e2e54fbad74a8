import math

import numpy as np
import pytest

from ticketlab.bias_models.measures import measure

NAMES = ("yes", "no")


def test_measures_of_four_examples():
    probabilities = np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    found = measure(probabilities, np.array([0, 1, 1, 1]), NAMES)
    assert found["n"] == 4
    assert found["accuracy"] == 0.5  # a tie predicts the first label
    assert found["majority"] == 0.75
    assert found["bias_degree"] == pytest.approx((0.75 + 0.5 + 0.75 + 0) / 4)
    assert found["bias_degree_of"] == {"yes": 0.75, "no": pytest.approx(1.25 / 3)}
    assert found["log_loss"] == pytest.approx(-(2 * math.log(0.75) + math.log(0.5) + math.log(1e-6)) / 4)


def test_labels_without_examples_have_no_bias_degree_and_no_examples_no_metrics():
    assert measure(np.array([[0.9, 0.1]]), np.array([0]), NAMES)["bias_degree_of"] == {"yes": 0.9, "no": None}
    assert measure(np.zeros((0, 2)), np.zeros(0, dtype=np.int64), NAMES) is None


def test_the_calibration_error_weighs_the_gap_of_each_bin():
    probabilities = np.array([[0.62, 0.38], [0.68, 0.32], [0.05, 0.95], [1.0, 0.0]])
    labels = np.array([0, 1, 1, 0])
    # bin (.6, .7]: accuracy 1/2, confidence .65; bin (.9, 1]: accuracy 1, confidence .975
    assert measure(probabilities, labels, NAMES)["calibration_error"] == pytest.approx(0.5 * 0.15 + 0.5 * 0.025)


def test_the_edge_of_a_bin_belongs_to_the_bin_below():
    probabilities = np.array([[0.5, 0.5], [0.55, 0.45]])
    assert measure(probabilities, np.array([0, 1]), NAMES)["calibration_error"] == pytest.approx((0.5 + 0.55) / 2)
