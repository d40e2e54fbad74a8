"""Insertions of words and merges of word pairs, predicted by a masked language model (CLARE, Li et al., 2021)."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from ticketlab.attacks.components.masked_swaps import swap_by_masking
from ticketlab.resources.masked_lm import EncodedText, MaskedLanguageModel
from ticketlab.resources.tagger import Tagger


def insert_by_masking(mlm: MaskedLanguageModel, *, candidates: int, min_confidence: float) -> Any:
    """Return the transformation that inserts one of the ``candidates`` best predictions of at least ``min_confidence`` before a word."""
    return _insert()(_Filler(mlm, candidates, min_confidence))


def merge_by_masking(mlm: MaskedLanguageModel, tag: Tagger, *, candidates: int, min_confidence: float) -> Any:
    """Return the transformation that replaces two adjacent words, whose parts of speech can be merged, by a prediction.

    As in textattack, it considers all pairs of a text, whichever words it is asked to change.
    """
    return _merge()(_Filler(mlm, candidates, min_confidence), tag)


_REPR_KEYS = ["max_candidates", "min_confidence"]


class _Filler:
    """Fills the first mask of a text."""

    def __init__(self, mlm: MaskedLanguageModel, candidates: int, min_confidence: float) -> None:
        self.mlm = mlm
        self.mask: str = mlm.tokenizer.mask_token
        self.swap = swap_by_masking(mlm, candidates=candidates, min_confidence=min_confidence, whole_words=False)

    def __call__(self, texts: Sequence[Any]) -> list[list[str]]:
        """Return the predictions for each text that contain a letter; none if the mask was truncated."""
        masked = [self._tokens(text.text_window_around_index(0, float("inf"))) for text in texts]
        predictions = self.mlm.top(masked, self.swap.max_candidates, self.swap.among)
        return [[word for word in self.swap._words(predicted) if re.search("[a-zA-Z]", word)] for predicted in predictions]

    def _tokens(self, text: str) -> tuple[EncodedText, list[int]]:
        tokens = self.mlm.tokens(text)
        masks = [place for place, number in enumerate(tokens.inputs["input_ids"]) if number == self.mlm.tokenizer.mask_token_id]
        return tokens, masks[:1]


@functools.cache
def _insert() -> Any:
    from textattack.transformations import WordInsertion

    class InsertByMasking(WordInsertion):  # type: ignore[misc]
        def __init__(self, filler: _Filler) -> None:
            self.filler = filler
            self.max_candidates, self.min_confidence = filler.swap.max_candidates, filler.swap.min_confidence

        def extra_repr_keys(self) -> list[str]:
            return _REPR_KEYS

        def _get_transformations(self, current_text: Any, indices_to_modify: Sequence[int]) -> list[Any]:
            indices = list(indices_to_modify)
            masked = [current_text.insert_text_before_word_index(index, self.filler.mask) for index in indices]
            return [
                current_text.insert_text_before_word_index(index, word)
                for index, words in zip(indices, self.filler(masked), strict=True)
                for word in words
                if word != current_text.words[index]
            ]

    return InsertByMasking


@functools.cache
def _merge() -> Any:
    from textattack.transformations import Transformation
    from textattack.transformations.word_merges.word_merge_masked_lm import find_merge_index

    class MergeByMasking(Transformation):  # type: ignore[misc]
        def __init__(self, filler: _Filler, tag: Tagger) -> None:
            self.filler = filler
            self.tag = tag
            self.max_candidates, self.min_confidence = filler.swap.max_candidates, filler.swap.min_confidence

        def extra_repr_keys(self) -> list[str]:
            return _REPR_KEYS

        def _get_transformations(self, current_text: Any, _: Sequence[int]) -> list[Any]:
            pairs = find_merge_index(self.tag(current_text.words))
            masked = [current_text.replace_word_at_index(index, self.filler.mask).delete_word_at_index(index + 1) for index in pairs]
            return [
                current_text.delete_word_at_index(index + 1).replace_word_at_index(index, word)
                for index, words in zip(pairs, self.filler(masked), strict=True)
                for word in words
                if word != current_text.words[index]
            ]

    return MergeByMasking
