"""The entries of a tokenizer's vocabulary: words, pieces that continue a word, or special tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from attrs import frozen

_CONTINUES = "##"
_STARTS = ("Ġ", "▁")
_RESERVED = re.compile(r"[\[<]unused[ _]?\d+[\]>]")


@frozen
class WordPiece:
    """An entry: its text without the tokenizer's marks, whether it continues a word, and whether it is special.

    ``special`` entries are the tokenizer's own tokens (``[SEP]``), reserved ones (``[unused7]``), and ids beyond the vocabulary.
    """

    text: str
    continues: bool
    special: bool


class WordPieces(Sequence[WordPiece]):
    """The entries by id, as many as a model has outputs. WordPiece, byte-level BPE and SentencePiece vocabularies are supported."""

    def __init__(self, tokenizer: Any, size: int) -> None:
        self._tokenizer = tokenizer
        self._tokens = tokenizer.convert_ids_to_tokens(list(range(min(size, len(tokenizer)))))
        self._tokens += [None] * (size - len(self._tokens))
        self._special = {*tokenizer.all_special_tokens, *(str(token) for token in tokenizer.added_tokens_decoder.values() if token.special)}
        marks = (_CONTINUES, *_STARTS)
        self._mark = max(marks, key=lambda mark: sum(token is not None and token.startswith(mark) for token in self._tokens))
        self.marks_continuations = self._mark == _CONTINUES
        """Whether marked entries continue a word; otherwise they begin one."""
        self._known: dict[int, WordPiece] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, index: Any) -> Any:
        if index not in self._known:
            self._known[index] = self._piece(self._tokens[index])
        return self._known[index]

    def _piece(self, token: str | None) -> WordPiece:
        if token is None or token in self._special or _RESERVED.fullmatch(token):
            return WordPiece(token or "", continues=False, special=True)
        marked = token.startswith(self._mark)
        if self.marks_continuations:
            return WordPiece(token.removeprefix(_CONTINUES), continues=marked, special=False)
        return WordPiece(self._text([token]), continues=not marked, special=False)

    def word(self, ids: Sequence[int]) -> str:
        """Return the concatenated text of some entries as one word."""
        if self.marks_continuations:
            return "".join(self[index].text for index in ids)
        return self._text([self._tokens[index] for index in ids])

    def _text(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens; several tokens may encode one character."""
        return str(self._tokenizer.convert_tokens_to_string(list(tokens))).strip()
