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

NOTICE = 1000
"""Pairs between two moves of the progress bar."""


@frozen
class WordOverlap(BiasModel):
    """How much of the second text (the hypothesis) is in the first (the premise).

    The features: whether all words of the hypothesis are in the premise; whether they stand there in one piece; which part of them is
    there; the mean and the least, over the words of the hypothesis, of the greatest cosine to a word of the premise. Words are in lower
    case, without the punctuation around them; a word that occurs twice counts once. A word is as similar to itself as can be (1), and
    one without a vector is not similar to any other (0). A hypothesis without words is wholly in any premise.
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
                if (row + 1) % NOTICE == 0:
                    bar.advance(NOTICE)
        return rows


def _of_pair(premise: Sequence[str], hypothesis: Sequence[str], vocabulary: WordTable, unit: Matrix) -> tuple[float, ...]:
    distinct, there = list(dict.fromkeys(hypothesis)), dict.fromkeys(premise)
    if not distinct:
        return (1, 1, 1, 1, 1)
    if not there:
        return (0, 0, 0, 0, 0)
    shared = np.array([word in there for word in distinct])
    numbers = vocabulary.numbers
    cosine = unit[[numbers[word] for word in distinct]] @ unit[[numbers[word] for word in there]].T
    nearest = np.where(shared, 1.0, np.minimum(cosine.max(axis=1), 1.0))
    whole = f" {' '.join(hypothesis)} " in f" {' '.join(premise)} "
    return (float(shared.all()), float(whole), float(shared.mean()), float(nearest.mean()), float(nearest.min()))
