"""Substitutes for the classes in textattack's recipes that would download something: the same classes with local resources."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ticketlab.attacks.components import word_swaps
from ticketlab.attacks.components.constraints import any_part_of_speech, as_embedding, same_part_of_speech, similar_sentence
from ticketlab.attacks.components.masked_edits import insert_by_masking, merge_by_masking
from ticketlab.attacks.components.masked_swaps import swap_by_masking, swap_by_pieces
from ticketlab.core.errors import ResourceError
from ticketlab.resources.resources import Resources
from ticketlab.resources.stop_words import english_stop_words

_COMBINATIONS = 10_000


class OfflineSubstitutes:
    """Makes substitutes, which accept the arguments that the recipes pass to the originals."""

    def __init__(self, resources: Resources, device: Any) -> None:
        self.resources = resources
        self.device = device

    def by_name(self, needed: Sequence[str]) -> dict[str, Callable[..., Any]]:
        """Return the substitutes for a recipe that needs these resources, by the name of what they replace."""
        makers = {
            "word_vectors": self._of_word_vectors,
            "encoder": self._of_encoder,
            "tagger": self._of_tagger,
            "mlm": self._of_mlm,
            "wordnet": self._of_wordnet,
        }
        found: dict[str, Any] = {"StopwordModification": _stop_words, "WordSwapHomoglyphSwap": word_swaps.swap_homoglyphs}
        for name in needed:
            found |= makers[name]()
        return found

    def _of_word_vectors(self) -> dict[str, Any]:
        from textattack.constraints.semantics import WordEmbeddingDistance
        from textattack.transformations import WordSwapEmbedding

        vectors = as_embedding(self.resources.load_word_vectors())
        classes = {"WordSwapEmbedding": WordSwapEmbedding, "WordEmbeddingDistance": WordEmbeddingDistance}
        return {name: functools.partial(cls, embedding=vectors) for name, cls in classes.items()}

    def _of_encoder(self) -> dict[str, Any]:
        encoder = self.resources.load_encoder(self.device)

        def similar(
            threshold: float,
            metric: Literal["angular", "cosine"] = "angular",
            window_size: int | None = None,
            skip_text_shorter_than_window: bool = False,
            **rest: Any,
        ) -> Any:
            return similar_sentence(
                encoder, threshold=threshold, metric=metric, window=window_size, skip_short=skip_text_shorter_than_window, **rest
            )

        return {"UniversalSentenceEncoder": similar}

    def _of_tagger(self) -> dict[str, Any]:
        if self.resources.tagger == "none":
            return {"PartOfSpeech": any_part_of_speech}
        return {"PartOfSpeech": functools.partial(same_part_of_speech, self.resources.load_tagger())}

    def _of_mlm(self) -> dict[str, Any]:
        mlm = self.resources.load_mlm(self.device)

        def swap(method: str, max_candidates: int, min_confidence: float = 0.0, **_: Any) -> Any:
            if method == "bert-attack":
                return swap_by_pieces(mlm, candidates=max_candidates, order="first", combinations=_COMBINATIONS)
            return swap_by_masking(mlm, candidates=max_candidates, min_confidence=min_confidence, whole_words=False)

        def insert(max_candidates: int, min_confidence: float, **_: Any) -> Any:
            return insert_by_masking(mlm, candidates=max_candidates, min_confidence=min_confidence)

        def merge(max_candidates: int, min_confidence: float, **_: Any) -> Any:
            if self.resources.tagger == "none":
                raise ResourceError("this recipe merges words by their parts of speech, so `tagger` cannot be `none`")
            return merge_by_masking(mlm, self.resources.load_tagger(), candidates=max_candidates, min_confidence=min_confidence)

        nothing = types.SimpleNamespace(from_pretrained=lambda *_, **__: None)  # CLARE loads its model itself
        transformers = types.SimpleNamespace(AutoModelForCausalLM=nothing, AutoTokenizer=nothing)
        return {
            "WordSwapMaskedLM": swap,
            "WordInsertionMaskedLM": insert,
            "WordMergeMaskedLM": merge,
            "transformers": transformers,
        }

    def _of_wordnet(self) -> dict[str, Any]:
        return {"WordSwapWordNet": functools.partial(word_swaps.swap_synonyms, self.resources.load_wordnet())}


def _stop_words(stopwords: Any = None) -> Any:
    from textattack.constraints.pre_transformation import StopwordModification

    return StopwordModification(stopwords=english_stop_words() if stopwords is None else stopwords)
