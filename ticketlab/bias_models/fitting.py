"""The classifier that all bias models share, and cross-fitting: probabilities for examples that it was not fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticketlab.bias_models.base import Features
from ticketlab.bias_models.folds import Numbers

Probabilities = NDArray[np.float64]
MAX_ITERATIONS = 1000


class Classifier:
    """Multinomial logistic regression on standardised features, fitted by the constructor.

    scikit-learn's C, the inverse strength of the L2 penalty, is ``c`` divided by the number of features, so that the same ``c`` limits the
    logits similarly for five features and for hundreds. A label without examples gets the probability 0.
    """

    def __init__(self, features: Features, labels: Numbers, classes: int, c: float) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        self._classes = classes
        self._pipeline: Any = make_pipeline(StandardScaler(), LogisticRegression(C=c / features.shape[1], max_iter=MAX_ITERATIONS))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._pipeline.fit(features, labels)
        self.converged = bool(self._pipeline[-1].n_iter_.max() < MAX_ITERATIONS)

    def __call__(self, features: Features) -> Probabilities:
        """Return the probability of each label, (rows, classes)."""
        probabilities = np.zeros((len(features), self._classes))
        if len(features):
            probabilities[:, self._pipeline[-1].classes_] = self._pipeline.predict_proba(features)
        return probabilities


def cross_fit(
    features: Features, labels: Numbers, fold: Numbers, classes: int, c: float, tick: Callable[[], None] = lambda: None
) -> tuple[Probabilities, bool]:
    """Return the probabilities of each example from a classifier fitted on the other folds, and whether all classifiers converged.

    With a single fold, the classifier is fitted on the same examples that it predicts. A label of ``classes`` or above does not stand for
    a single class: such an example is predicted but never used for fitting. ``tick`` is called after each fold.
    """
    probabilities = np.empty((len(features), classes))
    converged = True
    single = labels < classes
    numbers = np.unique(fold)
    for number in numbers:
        inside = fold == number
        others = (single & ~inside) if len(numbers) > 1 else single
        classifier = Classifier(features[others], labels[others], classes, c)
        probabilities[inside] = classifier(features[inside])
        converged &= classifier.converged
        tick()
    return probabilities, converged
