"""Attacks as a user of plain textattack writes them: its wrapper and recipes, with local substitutes for its downloads.

``cap=None`` is its default: victim and masked language model pad every text to 512 tokens. ``cap=128`` pads to 128, and ``dynamic`` to the
longest text of the batch. Thresholds, stop words, vectors and models are the same as ours, so that equal attacks are compared.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from attrs import frozen

from ticketlab.backbone.device import pick_device
from ticketlab.resources import stop_words
from ticketlab.resources.textattack_import import import_textattack

ENCODER_LENGTH = 256


@frozen
class Padding:
    """How texts are padded."""

    cap: int | None = None
    dynamic: bool = False


@frozen
class Parts:
    """What the attacks need in addition to textattack."""

    victim: str
    vectors: Any
    encoder: str
    mlm: str | None
    tagger: Callable[[Sequence[str]], Sequence[str]] | None
    wordnet: Any


def wrapper(folder: str, padding: Padding) -> Any:
    """Return the victim."""
    import_textattack()
    from textattack.models.wrappers import HuggingFaceModelWrapper
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    class Dynamic(HuggingFaceModelWrapper):  # type: ignore[misc]
        def __call__(self, texts: Sequence[Any]) -> torch.Tensor:
            batch = self.tokenizer(texts, padding=True, truncation=True, return_tensors="pt").to(self.model.device)
            with torch.no_grad():
                logits: torch.Tensor = self.model(**batch).logits
            return logits

    model = AutoModelForSequenceClassification.from_pretrained(folder).to(pick_device()).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if padding.cap is not None:
        tokenizer.model_max_length = padding.cap
    return (Dynamic if padding.dynamic else HuggingFaceModelWrapper)(model, tokenizer)


def build(attack: Any, parts: Parts, padding: Padding) -> Any:
    """Return the ``textattack.Attack`` equivalent to ``attack``, one of our components."""
    textattack = import_textattack()
    from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
    from textattack.search_methods import GreedyWordSwapWIR

    stopwords = stop_words.textfooler() if attack.name == "textfooler" else stop_words.english_stop_words()
    constraints = [RepeatModification(), StopwordModification(stopwords=stopwords)]
    swaps, more, ranking = RECIPES[attack.name](attack, parts, padding)
    goal = textattack.goal_functions.UntargetedClassification(wrapper(parts.victim, padding))
    return textattack.Attack(goal, [*constraints, *more], swaps, GreedyWordSwapWIR(wir_method=ranking))


def _deepwordbug(attack: Any, parts: Parts, padding: Padding) -> tuple[Any, list[Any], str]:
    from textattack import transformations as kinds
    from textattack.constraints.overlap import LevenshteinEditDistance

    swaps = kinds.CompositeTransformation(
        [
            kinds.WordSwapNeighboringCharacterSwap(),
            kinds.WordSwapRandomCharacterSubstitution(),
            kinds.WordSwapRandomCharacterDeletion(),
            kinds.WordSwapRandomCharacterInsertion(),
        ]
    )
    return swaps, [LevenshteinEditDistance(attack.max_edit_distance)], "unk"


def _textfooler(attack: Any, parts: Parts, padding: Padding) -> tuple[Any, list[Any], str]:
    from textattack.constraints.pre_transformation import InputColumnModification
    from textattack.constraints.semantics import WordEmbeddingDistance
    from textattack.transformations import WordSwapEmbedding

    embedding = _embedding(parts.vectors)
    similarity = _encoder()(
        parts.encoder,
        threshold=attack.min_similarity,
        metric="angular",
        compare_against_original=False,
        window_size=attack.window,
        skip_text_shorter_than_window=True,
    )
    constraints = [
        InputColumnModification(["premise", "hypothesis"], {"premise"}),
        WordEmbeddingDistance(embedding=embedding, min_cos_sim=attack.min_cosine),
        _part_of_speech(parts.tagger),
        similarity,
    ]
    return WordSwapEmbedding(max_candidates=attack.neighbours, embedding=embedding), constraints, "delete"


def _textbugger(attack: Any, parts: Parts, padding: Padding) -> tuple[Any, list[Any], str]:
    from textattack import transformations as kinds

    inside = {"random_one": True, "skip_first_char": True, "skip_last_char": True}
    homoglyphs = kinds.WordSwapHomoglyphSwap.__new__(kinds.WordSwapHomoglyphSwap)
    with contextlib.suppress(FileNotFoundError):  # its package lacks a list that word swaps do not use
        homoglyphs.__init__()
    swaps = kinds.CompositeTransformation(
        [
            kinds.WordSwapRandomCharacterInsertion(letters_to_insert=" ", **inside),
            kinds.WordSwapRandomCharacterDeletion(**inside),
            kinds.WordSwapNeighboringCharacterSwap(**inside),
            homoglyphs,
            kinds.WordSwapEmbedding(max_candidates=attack.neighbours, embedding=_embedding(parts.vectors)),
        ]
    )
    return swaps, [_encoder()(parts.encoder, threshold=attack.min_similarity, metric="angular")], "delete"


def _pwws(attack: Any, parts: Parts, padding: Padding) -> tuple[Any, list[Any], str]:
    from textattack.transformations.word_swaps import word_swap_wordnet

    word_swap_wordnet.wordnet = parts.wordnet.reader
    word_swap_wordnet.nltk = types.SimpleNamespace(download=lambda _: True)
    return word_swap_wordnet.WordSwapWordNet(), [], "weighted-saliency"


def _bae(attack: Any, parts: Parts, padding: Padding) -> tuple[Any, list[Any], str]:
    swaps = _masked_lm(attack, parts, padding, method="bae", min_confidence=attack.min_confidence)
    similarity = _encoder()(
        parts.encoder,
        threshold=attack.min_similarity,
        metric="cosine",
        window_size=attack.window,
        skip_text_shorter_than_window=True,
    )
    return swaps, [_part_of_speech(parts.tagger), similarity], "delete"


def _bert_attack(attack: Any, parts: Parts, padding: Padding) -> tuple[Any, list[Any], str]:
    from textattack.constraints.overlap import MaxWordsPerturbed

    similarity = _encoder()(parts.encoder, threshold=attack.min_similarity, metric="cosine")
    constraints = [MaxWordsPerturbed(max_percent=attack.max_words_perturbed), similarity]
    return _masked_lm(attack, parts, padding, method="bert-attack"), constraints, "unk"


def _masked_lm(attack: Any, parts: Parts, padding: Padding, **settings: Any) -> Any:
    from textattack.transformations import WordSwapMaskedLM
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    class Dynamic(WordSwapMaskedLM):  # type: ignore[misc]
        def _encode_text(self, text: Any) -> Any:
            encoded = self._lm_tokenizer(text, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt")
            return encoded.to(self._language_model.device)

    return (Dynamic if padding.dynamic else WordSwapMaskedLM)(
        masked_language_model=AutoModelForMaskedLM.from_pretrained(parts.mlm),
        tokenizer=AutoTokenizer.from_pretrained(parts.mlm),
        max_candidates=attack.candidates,
        max_length=padding.cap or 512,
        **settings,
    )


RECIPES = {
    "deepwordbug": _deepwordbug,
    "textfooler": _textfooler,
    "textbugger": _textbugger,
    "pwws": _pwws,
    "bae": _bae,
    "bert-attack": _bert_attack,
}


class Neighbours:
    """The neighbours of our vectors in place of textattack's matrix: the word itself first."""

    def __init__(self, vectors: Any, most: int) -> None:
        self.vectors = vectors
        self.most = most

    def __getitem__(self, index: int) -> list[int]:
        return [index, *self.vectors.nearest_neighbours(index, self.most)]


class Numbers:
    """The index of a word, as a mapping."""

    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    def __getitem__(self, word: str) -> int:
        number: int = self.vectors.word2index(word)
        return number


def _embedding(vectors: Any) -> Any:
    from textattack.shared import WordEmbedding

    return WordEmbedding(vectors.matrix, Numbers(vectors), vectors.words, Neighbours(vectors, 50))


def _part_of_speech(tagger: Callable[[Sequence[str]], Sequence[str]] | None) -> Any:
    from textattack.constraints.grammaticality import PartOfSpeech

    assert tagger is not None

    class Tagged(PartOfSpeech):  # type: ignore[misc]
        def _get_pos(self, before: list[str], word: str, after: list[str]) -> str:
            words = [*before, word, *after]
            text = " ".join(words)
            if text not in self._pos_tag_cache:
                self._pos_tag_cache[text] = tagger(words)
            return str(self._pos_tag_cache[text][words.index(word)])

    return Tagged(tagger_type="own", allow_verb_noun_swap=True)


def _encoder() -> Any:
    from textattack.constraints.semantics.sentence_encoders import SentenceEncoder
    from transformers import AutoModel, AutoTokenizer

    class MeanOfTokens(SentenceEncoder):  # type: ignore[misc]
        def __init__(self, folder: str, **settings: Any) -> None:
            super().__init__(**settings)
            self.encoder = AutoModel.from_pretrained(folder).to(pick_device()).eval()
            self.tokenizer = AutoTokenizer.from_pretrained(folder)

        @property
        def model(self) -> Any:
            return self  # textattack calls `self.model.encode` for a single text

        def encode(self, sentences: list[str]) -> torch.Tensor:
            found = []
            for start in range(0, len(sentences), 64):
                texts = sentences[start : start + 64]
                batch = self.tokenizer(texts, padding=True, truncation=True, max_length=ENCODER_LENGTH, return_tensors="pt")
                batch = batch.to(self.encoder.device)
                with torch.no_grad():
                    hidden = self.encoder(**batch).last_hidden_state
                mask = batch["attention_mask"].unsqueeze(-1)
                found.append((hidden * mask).sum(1) / mask.sum(1))
            return torch.cat(found).cpu()

        def _check_constraint_many(self, texts: list[Any], reference: Any) -> Any:
            # without this every fourth example of textfooler ends in StopIteration: a candidate may equal the word that it replaces
            return super()._check_constraint_many([text for text in texts if text.attack_attrs["newly_modified_indices"]], reference)

    return MeanOfTokens
