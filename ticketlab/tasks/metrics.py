"""Classification metrics of predictions: accuracy, and metrics that are sensitive to rare classes, computed by scikit-learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Outcomes = Sequence[tuple[int, int | None]]
"""The true and the predicted label of each example. None is a prediction that is not a label of the set and counts as wrong."""

NAMES = ("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "matthews", "binary_f1")
"""The names of :func:`measures`."""


def measures(outcomes: Outcomes, labels: int, positive: int | None = None) -> dict[str, float | None]:
    """Return the metrics of predictions over ``labels`` classes; each is None if there are no examples.

    ``accuracy``; ``balanced_accuracy``, the mean recall of the labels that have examples; ``macro_f1``, the mean over the labels that have
    examples or predictions; ``weighted_f1``, weighted by the number of examples of each label; ``matthews``, the correlation of
    predictions and labels, from -1 to 1, and 0 if either has a single value, as in GLUE. With the index of a ``positive`` label also
    ``binary_f1``, the F1 of that label alone.
    """
    n = len(outcomes)
    sizes = Counter(label for label, _ in outcomes)
    predicted = Counter(prediction for _, prediction in outcomes)
    recall, f1 = _recall_and_f1(outcomes, labels) if n else ([], [])
    occurring = [label for label in range(labels) if sizes[label] or predicted[label]]
    # sums of Python floats, in this order: numpy's means differ in the last bit
    values = {
        "accuracy": ratio(sum(label == prediction for label, prediction in outcomes), n),
        "balanced_accuracy": ratio(sum(recall[label] for label in sizes), len(sizes)),
        "macro_f1": ratio(sum(f1[label] for label in occurring), len(occurring)) if n else None,
        "weighted_f1": ratio(sum(f1[label] * size for label, size in sizes.items()), n),
        "matthews": _matthews(outcomes, labels) if n else None,
    }
    return values if positive is None else {**values, "binary_f1": f1[positive] if n else None}


def majority_baseline(outcomes: Outcomes, labels: int, positive: int | None = None) -> dict[str, float | None]:
    """Return the same metrics for always predicting the most common label, the first one in case of a tie."""
    sizes = Counter(label for label, _ in outcomes)
    commonest = max(range(labels), key=lambda label: sizes[label], default=0)
    return measures([(label, commonest) for label, _ in outcomes], labels, positive)


def recall_by_label(outcomes: Outcomes, labels: int) -> list[float | None]:
    """Return the recall of each label, None for a label without examples."""
    present = {label for label, _ in outcomes}
    recall = _recall_and_f1(outcomes, labels)[0] if outcomes else []
    return [recall[label] if label in present else None for label in range(labels)]


def ratio(part: float, whole: float) -> float | None:
    """Return ``part / whole``, None if ``whole`` is zero."""
    return part / whole if whole else None


def _recall_and_f1(outcomes: Outcomes, labels: int) -> tuple[list[float], list[float]]:
    """Return the recall and the F1 of each label, 0 where they are undefined."""
    from sklearn.metrics import precision_recall_fscore_support

    _, recall, f1, _ = precision_recall_fscore_support(*_arrays(outcomes, labels), labels=list(range(labels)), zero_division=0)
    return recall.tolist(), f1.tolist()


def _matthews(outcomes: Outcomes, labels: int) -> float:
    from sklearn.metrics import matthews_corrcoef

    true, predicted = _arrays(outcomes, labels)
    if len({*true, *predicted}) == 1:  # scikit-learn warns about a confusion matrix of one cell
        return 0.0
    return float(matthews_corrcoef(true, predicted))


def _arrays(outcomes: Outcomes, labels: int) -> tuple[list[int], list[int]]:
    """Return true and predicted labels; a prediction that is not a label of the set becomes ``labels``."""
    return [label for label, _ in outcomes], [labels if prediction is None else prediction for _, prediction in outcomes]
