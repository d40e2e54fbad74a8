"""textattack's constraints on our resources. Its classes are imported when a constraint is first made."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ticketlab.attacks import tagger
from ticketlab.attacks.sentence_encoder import Encoder
from ticketlab.word_vectors import WordVectors


def as_embedding(vectors: WordVectors) -> WordVectors:
    """Make textattack accept word vectors as one of its own."""
    from textattack.shared import AbstractWordEmbedding

    AbstractWordEmbedding.register(WordVectors)
    return vectors


def same_part_of_speech(*, allow_verb_noun_swap: bool, compare_against_original: bool = True) -> Any:
    """Return the constraint that a word is replaced by one of the same part of speech, tagged by textblob."""
    return _part_of_speech()(
        tagger_type="textblob", allow_verb_noun_swap=allow_verb_noun_swap, compare_against_original=compare_against_original
    )


@functools.cache
def _part_of_speech() -> Any:
    from textattack.constraints.grammaticality import PartOfSpeech

    class SamePartOfSpeech(PartOfSpeech):  # type: ignore[misc]
        def _get_pos(self, before_ctx: list[str], word: str, after_ctx: list[str]) -> str:
            return tagger.tags([*before_ctx, word, *after_ctx])[len(before_ctx)]

    return SamePartOfSpeech


def similar_sentence(
    encoder: Encoder,
    *,
    threshold: float,
    metric: str,
    window: int | None = None,
    skip_short: bool = False,
    compare_against_original: bool = True,
) -> Any:
    """Return the constraint that a text stays near the one before (or the original), by a sentence encoder.

    ``metric`` is ``angular`` or ``cosine``; ``window`` looks at that many words around the change, and with ``skip_short`` texts of
    fewer words pass.
    """
    return _sentence_similarity()(
        encoder,
        threshold=threshold,
        metric=metric,
        window_size=window,
        skip_text_shorter_than_window=skip_short,
        compare_against_original=compare_against_original,
    )


@functools.cache
def _sentence_similarity() -> Any:
    from textattack.constraints.semantics.sentence_encoders import SentenceEncoder

    class SimilarSentence(SentenceEncoder):  # type: ignore[misc]
        def __init__(self, encoder: Encoder, **settings: Any) -> None:
            super().__init__(**settings)
            self.model = encoder

        def encode(self, sentences: list[str]) -> torch.Tensor:
            return self.model.encode(sentences)

        def _check_constraint_many(self, transformed_texts: list[Any], reference_text: Any) -> list[Any]:
            changed = [text for text in transformed_texts if text.attack_attrs["newly_modified_indices"]]
            scores = [1.0 if self._passes(text) else 0.0 for text in changed]
            compared = [index for index, score in enumerate(scores) if not score]
            similarities = self._score_list(reference_text, [changed[index] for index in compared]).tolist()
            for index, similarity in zip(compared, similarities, strict=True):
                scores[index] = similarity
            for text, score in zip(changed, scores, strict=True):
                text.attack_attrs["similarity_score"] = score
            return [text for text, score in zip(changed, scores, strict=True) if score >= self.threshold]

        def _passes(self, text: Any) -> bool:
            return bool(self.skip_text_shorter_than_window and len(text.words) < self.window_size)

    return SimilarSentence
