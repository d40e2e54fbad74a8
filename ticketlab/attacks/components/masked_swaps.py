"""Replaces a word by a masked language model's predictions, with the methods of BAE and BERT-Attack.

Equivalent to textattack's ``WordSwapMaskedLM``, but forward passes are merged with those of other examples, and nothing is computed that
would be discarded. textattack's classes are imported when a swap is first made.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import string
from collections.abc import Iterator, Sequence
from typing import Any

from ticketlab.attacks.components import piece_combinations
from ticketlab.attacks.components.piece_combinations import Order
from ticketlab.attacks.components.words import is_one_word
from ticketlab.core import progress
from ticketlab.resources.masked_lm import EncodedText, MaskedLanguageModel, MaskPredictions
from ticketlab.resources.word_pieces import WordPiece


def swap_by_pieces(mlm: MaskedLanguageModel, *, candidates: int, order: Order, combinations: int) -> Any:
    """Return BERT-Attack's swap: the word stays in the input, and each of its pieces is predicted.

    A word of one piece is replaced by those of its ``candidates`` best predictions that are words. A longer one is replaced by up to
    ``candidates`` combinations of its pieces' predictions that form one word, in the ``order`` of
    :mod:`ticketlab.attacks.components.piece_combinations`; at most ``combinations`` are examined.
    """
    return _by_pieces()(mlm, candidates, order, combinations)


def swap_by_masking(mlm: MaskedLanguageModel, *, candidates: int, min_confidence: float, whole_words: bool) -> Any:
    """Return BAE's swap: the word is masked and replaced by the ``candidates`` best predictions of at least ``min_confidence``.

    Pieces that continue a word count as words, as in textattack, unless ``whole_words``.
    """
    return _by_masking()(mlm, candidates, min_confidence, whole_words)


def span(text: Any, index: int) -> tuple[int, int]:
    """Return the span of characters of a word of an ``AttackedText``."""
    end = 0
    for word in text.words[: index + 1]:
        start = text.text.index(word, end)
        end = start + len(word)
    return start, end


def _is_one_word(text: str) -> bool:
    if len(text) == 1 and text.isalnum():
        return True  # for Chinese characters jieba would load its dictionary, which takes seconds
    return is_one_word(text)


def _word(piece: WordPiece) -> bool:
    return _is_one_word(piece.text) and not all(character in string.punctuation for character in piece.text)


def _whole_word(piece: WordPiece) -> bool:
    return _word(piece) and not piece.continues


@functools.cache
def _by_pieces() -> Any:
    from textattack.transformations import WordSwap

    class SwapByPieces(WordSwap):  # type: ignore[misc]
        def __init__(self, mlm: MaskedLanguageModel, candidates: int, order: Order, combinations: int) -> None:
            super().__init__()
            self.mlm = mlm
            self.max_candidates = candidates
            self.order = order
            self.combinations = combinations

        def _get_transformations(self, current_text: Any, indices_to_modify: Sequence[int]) -> list[Any]:
            indices = list(indices_to_modify)
            tokens = self.mlm.tokens(current_text.text)
            places = [tokens.at(*span(current_text, index)) for index in indices]
            guesses = self.mlm.top([(tokens, list(itertools.chain(*places)))], self.max_candidates)[0]
            return [
                current_text.replace_word_at_index(index, word)
                for index, positions in zip(indices, places, strict=True)
                for word in self._words(current_text, index, [guesses[position] for position in positions])
                if word != current_text.words[index]
            ]

        def _words(self, text: Any, index: int, guesses: Sequence[MaskPredictions]) -> list[str]:
            if len(guesses) == 1:
                found = [self.mlm.pieces[number] for number in guesses[0].ids]
                begins = index == 0 and not self.mlm.pieces.marks_continuations  # a word's mark stands for the space before it
                alone = [piece.text for piece in found if not piece.special and (begins or not piece.continues)]
                return [word for word in alone if _is_one_word(word)]
            return list(itertools.islice(self._combined(text.words[index], guesses), self.max_candidates)) if guesses else []

        def _combined(self, replaced: str, guesses: Sequence[MaskPredictions]) -> Iterator[str]:
            """Yield combinations that are one word. Special tokens are excluded."""
            pieces = self.mlm.pieces
            kept = [
                [(index, score) for index, score in zip(guess.ids, guess.log_probs, strict=True) if not pieces[index].special]
                for guess in guesses
            ]
            if self.order == "first":
                combined = piece_combinations.first([len(choices) for choices in kept])
            else:
                combined = piece_combinations.likeliest([[score for _, score in choices] for choices in kept])
            for choice in itertools.islice(combined, self.combinations):
                word = pieces.word([choices[number][0] for choices, number in zip(kept, choice, strict=True)])
                if _is_one_word(word):
                    yield word
            if next(combined, None) is not None:
                _report_limit(replaced, self.combinations)

        def extra_repr_keys(self) -> list[str]:
            return ["max_candidates", "order", "combinations"]

    return SwapByPieces


@functools.cache
def _report_limit(word: str, combinations: int) -> None:
    progress.say(f"bert-attack: only the first {combinations} combinations of pieces were examined for `{word}`")


@functools.cache
def _by_masking() -> Any:
    from textattack.transformations import WordSwap

    class SwapByMasking(WordSwap):  # type: ignore[misc]
        def __init__(self, mlm: MaskedLanguageModel, candidates: int, min_confidence: float, whole_words: bool) -> None:
            super().__init__()
            self.mlm = mlm
            self.max_candidates = candidates
            self.min_confidence = min_confidence
            self.among = _whole_word if whole_words else _word

        def _get_transformations(self, current_text: Any, indices_to_modify: Sequence[int]) -> list[Any]:
            indices = list(indices_to_modify)
            masked = [self._masked(current_text, index) for index in indices]
            predictions = self.mlm.top(masked, self.max_candidates, self.among)
            return [
                current_text.replace_word_at_index(index, word)
                for index, predicted in zip(indices, predictions, strict=True)
                for word in self._words(predicted)
                if word != current_text.words[index] and re.search("[a-zA-Z]", word)
            ]

        def _masked(self, text: Any, index: int) -> tuple[EncodedText, list[int]]:
            start, end = span(text, index)
            mark = self.mlm.tokenizer.mask_token
            tokens = self.mlm.tokens(f"{text.text[:start]}{mark}{text.text[end:]}")
            return tokens, [place for place in tokens.at(start, start + len(mark)) if tokens.inputs["input_ids"][place] == self._mask]

        @property
        def _mask(self) -> int:
            return int(self.mlm.tokenizer.mask_token_id)

        def _words(self, guesses: dict[int, MaskPredictions]) -> list[str]:
            return [
                self.mlm.pieces[index].text
                for guess in guesses.values()
                for index, score in zip(guess.ids, guess.log_probs, strict=True)
                if math.exp(score) >= self.min_confidence
            ]

        def extra_repr_keys(self) -> list[str]:
            return ["max_candidates", "min_confidence"]

    return SwapByMasking
