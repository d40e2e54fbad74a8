"""A metric, as another package would have it: the macro-averaged F1 of the classes that have examples."""

from __future__ import annotations

from typing import ClassVar, Literal

from attrs import frozen

from ticketlab.plugin import Metric, Predictions, hookimpl, setting


@frozen
class SupportedF1(Metric):
    """The mean F1 of the classes with at least ``support`` examples."""

    name: ClassVar[str] = "supported-f1"
    summary: ClassVar[str] = "mean F1 of the classes with enough examples"
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    heading: ClassVar[str] = "Supported F1"
    percent: ClassVar[bool] = True
    digits: ClassVar[int] = 1

    support: int = setting(1, at_least=1, help="examples that a class must have")

    def compute(self, predictions: Predictions) -> float | None:
        scores = []
        for label in range(len(predictions.label_names)):
            actual, predicted = predictions.labels == label, predictions.predicted == label
            if actual.sum() >= self.support:
                scores.append(2 * (actual & predicted).sum() / (actual.sum() + predicted.sum()))
        return sum(scores) / len(scores) if scores else None


@hookimpl
def ticketlab_metrics() -> list[type[Metric]]:
    return [SupportedF1]
