"""Plain text as rows of tokens. Long paragraphs are split into pieces, so none of their text is lost."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ticketlab.backbone.tokenizer import special_token_count
from ticketlab.backbone.vocabulary_warnings import unknown_token_id
from ticketlab.training import unknown_characters
from ticketlab.training.batch import TokenizedRows
from ticketlab.training.input_coverage import InputCoverage


def cut(paragraphs: Sequence[str], tokenizer: Any, max_length: int, shortest: int = 1) -> tuple[TokenizedRows, int]:
    """Tokenise paragraphs. Those longer than ``max_length`` tokens, including special tokens, are split into pieces of similar length.

    Returns the rows and the number of skipped paragraphs, which have fewer than ``shortest`` tokens without special tokens.
    """
    most = int(tokenizer.model_max_length)
    max_length = min(max_length, most)
    before, after = _around(tokenizer)
    special = len(before) + len(after)
    special_token_count(tokenizer, max_length, 1)
    encoded = tokenizer(list(paragraphs), add_special_tokens=False, verbose=False) if paragraphs else None
    tokens = encoded["input_ids"] if encoded else []
    kept = [ids for ids in tokens if len(ids) >= max(1, shortest)]
    rows = [[*before, *piece, *after] for ids in kept for piece in _pieces(ids, max_length - special)]
    types = [[0] * len(row) for row in rows] if "token_type_ids" in tokenizer.model_input_names else None
    unknown = unknown_token_id(tokenizer)
    encodings = encoded.encodings if encoded and tokenizer.is_fast else []
    of_kept = (((text,), encoding) for text, encoding in zip(paragraphs, encodings, strict=False) if len(encoding.ids) >= max(1, shortest))
    counted = unknown_characters.count(of_kept, unknown)
    coverage = InputCoverage.of(rows, special=special, unknown=unknown, longest=max_length, most=most, characters=counted)
    return TokenizedRows(rows, types, [0] * len(rows), tokenizer.pad_token_id, truncated=0, coverage=coverage), len(tokens) - len(kept)


def _pieces(ids: Sequence[int], size: int) -> list[Sequence[int]]:
    count = -(-len(ids) // size)
    ends = [part * len(ids) // count for part in range(count + 1)]
    return [ids[start:end] for start, end in itertools.pairwise(ends)]


def _around(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the special tokens before and after a text, as the tokenizer adds them."""
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = next(index for index in range(len(whole)) if whole[index : index + len(plain)] == plain)
    return whole[:start], whole[start + len(plain) :]
