"""The folds of cross-fitting: each example is predicted by a classifier that was fitted on the other folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.hash_order import hash_rank

Numbers = NDArray[np.int64]


def assign_folds(seen: Sequence[tuple[str, ...]], labels: Numbers, folds: int) -> Numbers:
    """Return the fold of each example, given the texts that the bias model sees of it.

    Examples with the same texts are in the same fold. Otherwise the classifier would already know the label of a text or, in a data set
    that has each claim with both labels, would have learned the opposite one. The groups are ordered by a hash of their texts, and each
    goes to the fold with the fewest examples of its labels. The result does not depend on the order of the examples, nor on a seed.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, texts in enumerate(seen):
        groups.setdefault(texts, []).append(index)
    counts = np.zeros((folds, int(labels.max(initial=0)) + 1), dtype=np.int64)
    assigned = np.empty(len(seen), dtype=np.int64)
    for texts in sorted(groups, key=lambda texts: hash_rank("\0".join(texts))):
        members = groups[texts]
        fold = int(counts[:, labels[members]].sum(axis=1).argmin())
        np.add.at(counts[fold], labels[members], 1)
        assigned[members] = fold
    return assigned


def check(labels: Numbers, fold: Numbers, label_names: Sequence[str], folds: int) -> None:
    """Check that a classifier can be fitted without any one of the folds.

    :raises DataError: all examples have the same label, or all examples of a label are in one fold.
    """
    counts = np.bincount(labels, minlength=len(label_names))
    if (counts > 0).sum() < 2:
        problem = f"all training examples are `{label_names[int(counts.argmax())]}`" if len(labels) else "there are no training examples"
        raise DataError(f"{problem}; a bias model needs two labels")
    for label in np.flatnonzero(counts).tolist() if folds > 1 else ():
        if len(np.unique(fold[labels == label])) < 2:
            few = "one training example" if counts[label] == 1 else f"{counts[label]} training examples with the same text"
            raise DataError(
                f"`{label_names[label]}` has {few}: the classifier for their fold would not know this label; "
                "use more training rows, or set folds to 1, which fits on the examples that it predicts"
            )
