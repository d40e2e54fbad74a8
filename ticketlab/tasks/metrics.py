"""What predictions are worth: accuracy, and the measures that do not let a rare class go unseen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Outcomes = Sequence[tuple[int, int | None]]
"""The right label and the predicted one of each example; None is a prediction that means no label of the set, which is wrong."""


def measures(outcomes: Outcomes, labels: int, positive: int | None = None) -> dict[str, float | None]:
    """Return the measures of predictions of one of so many labels, None where there is no example.

    ``accuracy``; ``balanced_accuracy``, the mean recall of the labels that there are examples of; ``macro_f1``, averaged over the labels
    that were seen or predicted; ``weighted_f1``, each label's F1 weighted by its examples; ``matthews``, the correlation of predictions
    and labels, from -1 to 1, and 0 where one of them has a single value, as in scikit-learn and so in GLUE. With a ``positive`` label of
    two also ``binary_f1``, the F1 of that label alone.
    """
    n = len(outcomes)
    sizes, guesses = Counter(truth for truth, _ in outcomes), Counter(said for _, said in outcomes)
    right = Counter(truth for truth, said in outcomes if truth == said)
    f1 = {label: _f1(right[label], sizes[label], guesses[label]) for label in range(labels)}
    seen = [label for label in range(labels) if sizes[label] or guesses[label]]
    found = {
        "accuracy": ratio(right.total(), n),
        "balanced_accuracy": ratio(sum(right[label] / size for label, size in sizes.items()), len(sizes)),
        "macro_f1": ratio(sum(f1[label] for label in seen), len(seen)) if n else None,
        "weighted_f1": ratio(sum(f1[label] * size for label, size in sizes.items()), n),
        "matthews": _matthews(right.total(), sizes, guesses) if n else None,
    }
    return found if positive is None else {**found, "binary_f1": f1[positive] if n else None}


def majority(outcomes: Outcomes, labels: int, positive: int | None = None) -> dict[str, float | None]:
    """Return the same measures of always predicting the commonest label, the first of equally common ones."""
    sizes = Counter(truth for truth, _ in outcomes)
    commonest = max(range(labels), key=lambda label: sizes[label], default=0)
    return measures([(truth, commonest) for truth, _ in outcomes], labels, positive)


def ratio(part: float, whole: float) -> float | None:
    """Return a fraction, None over nothing."""
    return part / whole if whole else None


def _f1(both: int, truth: int, said: int) -> float:
    return 2 * both / (truth + said) if truth + said else 0.0


def _matthews(right: int, sizes: Counter[int], guesses: Counter[int | None]) -> float:
    """Return the correlation for any number of classes (Gorodkin, 2004, eq. 8)."""
    n = sizes.total()
    apart = math.sqrt((n * n - sum(size * size for size in sizes.values())) * (n * n - sum(size * size for size in guesses.values())))
    return (right * n - sum(size * guesses[label] for label, size in sizes.items())) / apart if apart else 0.0
