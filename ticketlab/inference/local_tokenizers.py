"""Which tokenizers work word by word, so that the tokens of an unchanged part of a text can be reused.

A text is cut at *boundaries*: single spaces between two characters of :data:`_EDGES`. A tokenizer is local if the tokens before a boundary
depend on the text before it alone, and those after it on the text after it alone. It is if all its parts are:

- Added tokens, such as ``[MASK]``, are found anywhere in a text, and may strip the white space around them. So a segment that has one is
  tokenized together with its neighbours (:mod:`ticketlab.inference.segments`), and no added token may contain white space.
- Normalizers rewrite one character or grapheme, a run of combining marks or a run of spaces. The characters of :data:`_EDGES` begin and
  end a grapheme next to a space, and normalization makes no space or nothing of them, which is tested for each tokenizer.
- Pre-tokenizers split the text at each boundary, whatever is before and after, and the space belongs to the second part.
- Models tokenize each part of the pre-tokenizer alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_RANGES = (
    "!-~\u00c0-\u024f"  # ASCII and Latin; without the spacing accents, which are normalized to a space and a mark
    "\u0386-\u03ff\u0400-\u0481\u048a-\u052f"  # Greek and Cyrillic
    "\u05d0-\u05ea\u0620-\u064a"  # Hebrew and Arabic
    "\u2013\u2014\u2018-\u201f\u2026"  # dashes, quotation marks, dots
    "\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"  # Japanese, Chinese and Korean
)
_EDGES = re.compile(f"[{_RANGES}]")
BOUNDARY = re.compile(f" (?<=[{_RANGES}] )(?=[{_RANGES}])")
"""A space at which a text may be cut."""

_NORMALIZERS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "Precompiled", "Strip"}
_SPLITTING = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
_SPLITTING_MORE = {"Digits", "Punctuation"}


def is_of_transformers(tokenizer: Any) -> bool:
    """Return whether a tokenizer is a fast one of a class of transformers; those of other packages may do anything before or after."""
    from transformers import PreTrainedTokenizerFast

    return isinstance(tokenizer, PreTrainedTokenizerFast) and type(tokenizer).__module__.partition(".")[0] == "transformers"


def is_local(tokenizer: Any) -> bool:
    """Return whether a tokenizer is known to be local: a fast one of transformers with WordPiece, byte-level BPE, Unigram, or alike."""
    if not is_of_transformers(tokenizer):
        return False
    backend: Any = tokenizer.backend_tokenizer
    if any(re.search(r"\s", text) for text in added_tokens(tokenizer)) or getattr(backend.model, "dropout", None):
        return False
    normalizer, splitter = _state(backend.normalizer), _state(backend.pre_tokenizer)
    if _type(normalizer) == "BertNormalizer":  # it puts spaces around Chinese characters, which its own pre-tokenizer ignores
        return _type(splitter) == "BertPreTokenizer"
    return _is_local_normalizer(normalizer) and _keeps_edges(normalized_by(tokenizer)) and _splits(splitter)


def normalized_by(tokenizer: Any) -> Callable[[str], str]:
    """Return the function that normalizes a text as a fast tokenizer does."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    return str if normalizer is None else normalizer.normalize_str


def added_tokens(tokenizer: Any) -> set[str]:
    """Return the texts of a fast tokenizer's added tokens: those to be found in a text, and those to be found in a normalized one."""
    tokens = tokenizer.backend_tokenizer.get_added_tokens_decoder().values()
    normalized = normalized_by(tokenizer)
    return {token.content for token in tokens} | {normalized(token.content) for token in tokens if token.normalized}


def _state(part: Any) -> dict[str, Any] | None:
    return None if part is None else dict(json.loads(part.__getstate__()))


def _type(state: dict[str, Any] | None) -> str | None:
    return None if state is None else str(state["type"])


def _is_local_normalizer(state: dict[str, Any] | None) -> bool:
    match state:
        case None:
            return True
        case {"type": "Sequence", "normalizers": parts}:
            return all(map(_is_local_normalizer, parts))
        case {"type": "Replace", "pattern": {"Regex": " {2,}"}}:  # none of these spaces is a boundary
            return True
        case {"type": "Replace", "pattern": {"String": old}, "content": new}:
            return bool(old and new) and not re.search(r"\s", f"{old}{new}")
    return state["type"] in _NORMALIZERS


def _keeps_edges(normalized: Callable[[str], str]) -> bool:
    """Return whether each character of :data:`_EDGES` is still a word of its own after normalization."""
    letters = [letter for letter in map(chr, range(0xD7A4)) if _EDGES.match(letter)]
    words = normalized(" ".join(letters)).split(" ")
    return len(words) == len(letters) and all(words)


def _splits(state: dict[str, Any] | None) -> bool:
    match state:
        case None:
            return False
        case {"type": "Sequence", "pretokenizers": parts}:
            return any(map(_splits, parts)) and all(_splits(part) or part["type"] in _SPLITTING_MORE for part in parts)
        case {"type": "Metaspace", "split": splits}:
            return bool(splits)
        case {"type": "ByteLevel", "use_regex": splits}:
            return bool(splits)
    return state["type"] in _SPLITTING
