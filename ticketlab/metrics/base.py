"""The base class of metrics: one number of a model's predictions on a set of examples."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError

OUTSIDE = -1
"""The prediction of a label that the set does not have."""
NAME = re.compile(r"[\w-]+")
RESERVED = {
    *("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "matthews", "loss", "n", "correct", "outside", "majority"),
    *("recall", "predicted", "examples", "truncated", "clean", "aua", "suc", "queries", "seconds", "parameters"),
}
"""Names that numbers of every evaluation, training or attack have."""


@frozen(eq=False)
class Predictions:
    """Predictions on a set of examples, at least one; row for row in the order of the set.

    The arrays are read-only, since all metrics get the same ones.
    """

    labels: NDArray[np.int64]
    """The true labels, (rows,): indices into ``label_names``."""
    predicted: NDArray[np.int64]
    """The predicted labels, (rows,): indices into ``label_names``, or -1 for a prediction that is not a label of the set."""
    probabilities: NDArray[np.float64]
    """The probability of each label, (rows, labels): the sum, where several labels of the model mean one of the set."""
    confidence: NDArray[np.float64]
    """The probability of the predicted label, (rows,): of the label of the set, or else of that of the model."""
    label_names: tuple[str, ...]
    """The labels of the set."""
    positive: int | None = None
    """The index of the label that the set declares for binary F1, if any."""

    def __attrs_post_init__(self) -> None:
        for name in ("labels", "predicted", "probabilities", "confidence"):
            shown = np.asarray(getattr(self, name)).view()
            shown.flags.writeable = False
            object.__setattr__(self, name, shown)

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Which predictions are right, (rows,)."""
        return np.equal(self.labels, self.predicted)

    @classmethod
    def of_set(
        cls,
        probabilities: NDArray[np.float64],
        labels: Sequence[int],
        label_names: Sequence[str],
        mapping: Sequence[Sequence[int]],
        positive: int | None = None,
    ) -> Predictions:
        """Return the predictions on a set whose labels may differ from the model's.

        ``probabilities`` is (rows, labels of the model), and ``mapping`` has the indices of the model's labels for each label of the set.
        The prediction is the most probable label of the model, mapped to a label of the set.
        """
        chosen = probabilities.argmax(axis=1)
        to_set = np.full(probabilities.shape[1], OUTSIDE, dtype=np.int64)
        for label, indices in enumerate(mapping):
            to_set[list(indices)] = label
        summed = np.stack([probabilities[:, list(indices)].sum(axis=1) for indices in mapping], axis=1)
        predicted, rows = to_set[chosen], np.arange(len(chosen))
        confidence = np.where(predicted == OUTSIDE, probabilities[rows, chosen], summed[rows, predicted])
        return cls(np.asarray(labels, dtype=np.int64), predicted, summed, confidence, tuple(label_names), positive)


@frozen
class Metric(Component):
    """Settings of a metric. ``evaluate`` stages compute it on each of their sets, and training stages on the development examples."""

    kind: ClassVar[str] = "metric"
    better: ClassVar[Literal["higher", "lower"]]
    """Which values are better. Tables mark the best, and selections follow it."""
    heading: ClassVar[str] = ""
    """The heading of its column in tables; empty for its name."""
    percent: ClassVar[bool] = False
    """Whether tables show a fraction as a percentage."""
    digits: ClassVar[int] = 3
    """The number of decimal places in tables."""
    limits: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    """The least and the greatest possible value. A value outside of them is an error."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        name = getattr(cls, "name", None)
        if name is None:
            return
        if getattr(cls, "better", None) not in ("higher", "lower"):
            raise TypeError(f'{cls.__name__}.better must be "higher" or "lower": which values of the metric are better')
        if not NAME.fullmatch(name) or name in RESERVED or cls.variant:
            raise TypeError(
                f"{cls.__name__}: `{name}` cannot be the name of a metric: it may have letters, digits, `-` and `_`, and no variants, and "
                f"must not be one of {', '.join(sorted(RESERVED))}"
            )

    def compute(self, predictions: Predictions) -> float | None:
        """Return the value for the predictions on a set; None if it is not defined for them."""
        raise NotImplementedError


def compute_metrics(metrics: Sequence[Metric], predictions: Predictions) -> dict[str, float | None]:
    """Return the values of metrics by name.

    :raises PluginError: a value is not a finite number.
    """
    return {metric.name: _checked(metric, metric.compute(predictions)) for metric in metrics}


def _checked(metric: Metric, value: Any) -> float | None:
    if value is None:
        return None
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise PluginError(f"the metric `{metric.name}` returned {value!r}; `compute` must return a finite number, or None if it has none")
    if not metric.limits[0] <= number <= metric.limits[1]:
        raise PluginError(
            f"the metric `{metric.name}` returned {number:g}, which is outside its limits, {metric.limits[0]:g} to {metric.limits[1]:g}"
        )
    return float(number)
