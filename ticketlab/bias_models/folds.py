"""The folds of cross-fitting: which examples are predicted by a classifier that saw none of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.splits import rank

Numbers = NDArray[np.int64]


def deal(seen: Sequence[tuple[str, ...]], labels: Numbers, folds: int) -> Numbers:
    """Return the fold of each example, given what the bias model sees of it.

    Examples that look the same to it stay together: with one of them in another fold its label would be known, or, where a data set
    gives each claim both labels, be taken for wrong. In the order of hashes of what is seen, each group goes to the fold with the fewest
    examples of its labels. Neither the order of the examples nor a seed matters.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, texts in enumerate(seen):
        groups.setdefault(texts, []).append(index)
    counts = np.zeros((folds, int(labels.max(initial=0)) + 1), dtype=np.int64)
    dealt = np.empty(len(seen), dtype=np.int64)
    for texts in sorted(groups, key=lambda texts: rank("\0".join(texts))):
        members = groups[texts]
        fold = int(counts[:, labels[members]].sum(axis=1).argmin())
        np.add.at(counts[fold], labels[members], 1)
        dealt[members] = fold
    return dealt


def check(labels: Numbers, fold: Numbers, label_names: Sequence[str], folds: int) -> None:
    """Refuse labels that nothing can be fitted on, or nothing without one of the folds.

    :raises DataError: all examples have one label, or all examples of a label are in one fold.
    """
    counts = np.bincount(labels, minlength=len(label_names))
    if (counts > 0).sum() < 2:
        named = f"all training examples are `{label_names[int(counts.argmax())]}`" if len(labels) else "there is no training example"
        raise DataError(f"{named}; a bias model needs two labels")
    for label in np.flatnonzero(counts).tolist() if folds > 1 else ():
        if len(np.unique(fold[labels == label])) < 2:
            few = "one training example" if counts[label] == 1 else f"{counts[label]} training examples, the same to the bias model"
            raise DataError(
                f"`{label_names[label]}` has {few}: without them no classifier knows this label; "
                "take more training rows, or set folds to 1, which fits on what it predicts"
            )
