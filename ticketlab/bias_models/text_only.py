"""One text of a pair only: what claims or hypotheses reveal without the other text (SRNets, Liu et al., 2022, B.3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from attrs import frozen

from ticketlab.bias_models.base import BiasModel, Features
from ticketlab.bias_models.words import WordTable, WordVectorSource, split
from ticketlab.tasks.base import Example


@frozen
class ClaimOnly(BiasModel):
    """The word vectors of the first text, max-pooled over its words; zeros if no word has a vector."""

    name: ClassVar[str] = "claim-only"
    summary: ClassVar[str] = "the first text only: its word vectors, max-pooled"
    paper: ClassVar[str] = "Liu et al., 2022, https://arxiv.org/abs/2210.05211"

    def sees(self, example: Example) -> tuple[str, ...]:
        """Return the first text."""
        return example.texts[:1]

    def features(self, examples: Sequence[Example], words: WordVectorSource) -> Features:
        """Return the pooled vector of each first text; see :meth:`BiasModel.features`."""
        return _max_pooled([self.sees(example)[0] for example in examples], words)


@frozen
class HypothesisOnly(BiasModel):
    """The word vectors of the second text, max-pooled over its words; zeros if no word has a vector."""

    name: ClassVar[str] = "hypothesis-only"
    summary: ClassVar[str] = "the second text only: its word vectors, max-pooled"
    paper: ClassVar[str] = "Gururangan et al., 2018, https://arxiv.org/abs/1803.02324"
    columns: ClassVar[int] = 2

    def sees(self, example: Example) -> tuple[str, ...]:
        """Return the second text."""
        return example.texts[1:2]

    def features(self, examples: Sequence[Example], words: WordVectorSource) -> Features:
        """Return the pooled vector of each second text; see :meth:`BiasModel.features`."""
        return _max_pooled([self.sees(example)[0] for example in examples], words)


def _max_pooled(texts: Sequence[str], words: WordVectorSource) -> Features:
    distinct = [list(dict.fromkeys(split(text))) for text in texts]
    vocabulary = WordTable.of(distinct, words)
    rows = np.zeros((len(texts), words.width))
    for row, text in enumerate(distinct):
        numbers = [vocabulary.numbers[word] for word in text]
        known = [number for number in numbers if vocabulary.known[number]]
        if known:
            rows[row] = vocabulary.vectors[known].max(axis=0)
    return rows
