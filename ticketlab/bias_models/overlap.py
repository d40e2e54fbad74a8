"""Word overlap of a pair: the five features of Clark et al. (2019) that SRNets (Liu et al., 2022, B.3.1) trains its bias model on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from attrs import frozen

from ticketlab.bias_models.base import BiasModel, Features
from ticketlab.bias_models.words import Matrix, WordTable, WordVectorSource, split
from ticketlab.core import progress
from ticketlab.tasks.base import Example

PAIRS_PER_UPDATE = 1000
"""Pairs per update of the progress bar."""


@frozen
class WordOverlap(BiasModel):
    """How much of the second text (the hypothesis) is in the first (the premise).

    The features are:

    - whether all words of the hypothesis are in the premise;
    - whether the hypothesis is a contiguous part of the premise;
    - the fraction of its words that are in the premise;
    - the mean and the minimum, over the words of the hypothesis, of the greatest cosine to a word of the premise.

    Words are in lower case, without the punctuation around them. A word that occurs twice counts once. The similarity of a word to itself
    is 1, and that of a word without a vector to any other is 0. A hypothesis without words counts as contained in any premise.
    """

    name: ClassVar[str] = "overlap"
    summary: ClassVar[str] = "how much of the second text is in the first: five features of its words"
    paper: ClassVar[str] = "Clark et al., 2019, https://arxiv.org/abs/1909.03683"
    columns: ClassVar[int] = 2

    def features(self, examples: Sequence[Example], words: WordVectorSource) -> Features:
        """Return the five features of each pair; see :meth:`BiasModel.features`."""
        pairs = [(split(example.texts[0]), split(example.texts[1])) for example in examples]
        vocabulary = WordTable.of((text for pair in pairs for text in pair), words)
        unit = vocabulary.unit()
        rows = np.empty((len(pairs), 5))
        with progress.bar("word overlap", len(pairs)) as bar:
            for row, (premise, hypothesis) in enumerate(pairs):
                rows[row] = _of_pair(premise, hypothesis, vocabulary, unit)
                if (row + 1) % PAIRS_PER_UPDATE == 0:
                    bar.advance(PAIRS_PER_UPDATE)
        return rows


def _of_pair(premise: Sequence[str], hypothesis: Sequence[str], vocabulary: WordTable, unit: Matrix) -> tuple[float, ...]:
    hypothesis_words, premise_words = list(dict.fromkeys(hypothesis)), dict.fromkeys(premise)
    if not hypothesis_words:
        return (1, 1, 1, 1, 1)
    if not premise_words:
        return (0, 0, 0, 0, 0)
    shared = np.array([word in premise_words for word in hypothesis_words])
    numbers = vocabulary.numbers
    cosine = unit[[numbers[word] for word in hypothesis_words]] @ unit[[numbers[word] for word in premise_words]].T
    nearest = np.where(shared, 1.0, np.minimum(cosine.max(axis=1), 1.0))
    contiguous = f" {' '.join(hypothesis)} " in f" {' '.join(premise)} "
    return (float(shared.all()), float(contiguous), float(shared.mean()), float(nearest.mean()), float(nearest.min()))
