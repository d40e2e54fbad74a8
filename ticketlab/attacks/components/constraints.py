"""textattack's constraints with local resources. Its classes are imported when a constraint is first made."""

from __future__ import annotations

import functools
from typing import Any, Literal

import torch

from ticketlab.resources.sentence_encoder import SentenceEncoder
from ticketlab.resources.tagger import Tagger
from ticketlab.resources.word_vectors import WordVectors


def as_embedding(vectors: WordVectors) -> WordVectors:
    """Return word vectors as an embedding that textattack's classes accept (``WordSwapEmbedding``, ``WordEmbeddingDistance``)."""
    from textattack.shared import AbstractWordEmbedding

    AbstractWordEmbedding.register(WordVectors)
    return vectors


def same_part_of_speech(tag: Tagger, *, allow_verb_noun_swap: bool, compare_against_original: bool = True) -> Any:
    """Return the constraint that a word is replaced by one with the same part of speech.

    ``tag`` is what :meth:`Resources.load_tagger` returns; with ``allow_verb_noun_swap`` a noun may replace a verb and the reverse. The
    tagger sees four words before the word and three after. If the word occurs twice in them, the first counts, as in textattack.
    """
    return _part_of_speech()(tag, allow_verb_noun_swap=allow_verb_noun_swap, compare_against_original=compare_against_original)


@functools.cache
def _part_of_speech() -> Any:
    from textattack.constraints.grammaticality import PartOfSpeech

    class SamePartOfSpeech(PartOfSpeech):  # type: ignore[misc]
        def __init__(self, tag: Tagger, **settings: Any) -> None:
            super().__init__(tagger_type="universal", **settings)
            self.tag = tag

        def _get_pos(self, before_ctx: list[str], word: str, after_ctx: list[str]) -> str:
            words = [*before_ctx, word, *after_ctx]
            return self.tag(words)[words.index(word)]

    return SamePartOfSpeech


def any_part_of_speech(**_: Any) -> Any:
    """Return a constraint that accepts everything."""
    return _none()()


@functools.cache
def _none() -> Any:
    from textattack.constraints import Constraint

    class NoConstraint(Constraint):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(compare_against_original=True)

        def _check_constraint(self, transformed_text: Any, reference_text: Any) -> bool:
            return True

    return NoConstraint


def similar_sentence(
    encoder: SentenceEncoder,
    *,
    threshold: float,
    metric: Literal["angular", "cosine"],
    window: int | None = None,
    skip_short: bool = False,
    compare_against_original: bool = True,
) -> Any:
    """Return the constraint that a text stays similar to the previous one (or to the original), by a sentence encoder.

    The similarity must be at least ``threshold``. It is the cosine of the two embeddings, or 1 - angle / pi (``angular``). Only
    ``window`` words around the change are compared; with ``skip_short`` texts with fewer words are accepted.
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
    from textattack.constraints.semantics.sentence_encoders import SentenceEncoder as SentenceEncoderConstraint

    class SimilarSentence(SentenceEncoderConstraint):  # type: ignore[misc]
        def __init__(self, encoder: SentenceEncoder, **settings: Any) -> None:
            super().__init__(**settings)
            self.model = encoder

        def encode(self, sentences: list[str]) -> torch.Tensor:
            return self.model.encode(sentences)

        def _check_constraint_many(self, transformed_texts: list[Any], reference_text: Any) -> list[Any]:
            changed = [text for text in transformed_texts if text.attack_attrs["newly_modified_indices"]]
            compared = [index for index, text in enumerate(changed) if not self._passes(text)]
            scores = torch.ones(len(changed))
            scores[compared] = self._score_list(reference_text, [changed[index] for index in compared])
            for text, score in zip(changed, scores.tolist(), strict=True):
                text.attack_attrs["similarity_score"] = score
            similar = (scores >= self.threshold).tolist()
            return [text for text, kept in zip(changed, similar, strict=True) if kept]

        def _score_list(self, starting_text: Any, transformed_texts: list[Any]) -> torch.Tensor:
            """Score as textattack does, but cut each window of the reference text once."""
            if not transformed_texts:
                return torch.empty(0)
            places = [next(iter(text.attack_attrs["newly_modified_indices"])) for text in transformed_texts]
            before = {place: starting_text.text_window_around_index(place, self.window_size) for place in dict.fromkeys(places)}
            after = [text.text_window_around_index(place, self.window_size) for text, place in zip(transformed_texts, places, strict=True)]
            embeddings = self.encode([*(before[place] for place in places), *after])
            scores: torch.Tensor = self.sim_metric(embeddings[: len(places)], embeddings[len(places) :])
            return scores

        def _passes(self, text: Any) -> bool:
            return bool(self.skip_text_shorter_than_window and len(text.words) < self.window_size)

    return SimilarSentence
