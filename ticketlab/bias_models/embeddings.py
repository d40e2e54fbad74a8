"""Word vectors from a model: the mean of the input embeddings of a word's pieces."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ticketlab.backbone import loading
from ticketlab.bias_models.words import Matrix, WordVectorSource

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from ticketlab.backbone.weights import Warn

AT_ONCE = 4096
"""Words per call of the tokenizer."""


class FromModel(WordVectorSource):
    """Vectors from the input embeddings of a pre-trained model, before positions and normalisation.

    A word is split into pieces as in the middle of a text. Unknown pieces are ignored; a word that consists only of them has no vector.
    ``warn`` is called with problems of the tokenizer or the weights.
    """

    def __init__(self, model: str, warn: Warn = loading.python_warning) -> None:
        super().__init__()
        self._model = model
        self._warn = warn

    @property
    def width(self) -> int:
        """The length of a vector."""
        return int(self._loaded[1].shape[1])

    def find(self, words: Sequence[str]) -> Sequence[Matrix | None]:
        """Look the words up; see :meth:`WordVectorSource.find`."""
        tokenizer, embeddings = self._loaded
        vectors: list[Matrix | None] = []
        for start in range(0, len(words), AT_ONCE):
            inside = [f" {word}" for word in words[start : start + AT_ONCE]]
            for pieces in tokenizer(inside, add_special_tokens=False, truncation=True)["input_ids"]:
                known = [piece for piece in pieces if piece != tokenizer.unk_token_id]
                vectors.append(embeddings[known].mean(axis=0, dtype=np.float32) if known else None)
        return vectors

    @functools.cached_property
    def _loaded(self) -> tuple[PreTrainedTokenizerBase, Matrix]:
        encoder = loading.load_encoder(self._model, self._warn)
        embeddings: Matrix = encoder.get_input_embeddings().weight.detach().numpy().copy()
        return loading.load_tokenizer(self._model, self._warn), embeddings
