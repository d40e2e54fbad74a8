"""The expected calibration error (Guo et al., 2017, Eq. 3)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from ticketlab.core.settings import setting
from ticketlab.metrics.base import Metric, Predictions


@frozen
class Calibration(Metric):
    """The mean distance between the accuracy and the mean confidence of the predictions in bins of equal width of the confidence.

    A bin counts by the fraction of the examples in it; bin m of M holds confidences above (m - 1) / M and up to m / M. 0 means that of the
    predictions with a confidence of 80 %, 80 % are right. A prediction that is not a label of the set is wrong.
    """

    name: ClassVar[str] = "calibration"
    summary: ClassVar[str] = "the expected calibration error: how far the confidence of predictions is from their accuracy"
    paper: ClassVar[str] = "Guo et al., 2017, https://proceedings.mlr.press/v70/guo17a.html"
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    heading: ClassVar[str] = "Calibration error"
    percent: ClassVar[bool] = True
    digits: ClassVar[int] = 1
    limits: ClassVar[tuple[float, float]] = (0, 1)

    bins: int = setting(15, at_least=1, help="bins of the confidence (M)")

    def compute(self, predictions: Predictions) -> float:
        """Return the error, between 0 and 1."""
        return calibration_error(predictions.correct, predictions.confidence, self.bins)


def calibration_error(correct: NDArray[np.bool_], confidence: NDArray[np.float64], bins: int) -> float:
    """Return the error of predictions, at least one, in ``bins`` bins; see :class:`Calibration`. Both arrays are (rows,)."""
    numbers = np.searchsorted(np.arange(1, bins) / bins, confidence, side="left")
    gaps = correct - confidence
    # the size of a bin times |accuracy - mean confidence| is the distance of the sums
    return math.fsum(abs(math.fsum(gaps[numbers == number])) for number in np.unique(numbers)) / len(gaps)
