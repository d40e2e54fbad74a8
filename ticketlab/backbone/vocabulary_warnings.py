"""Warnings about a tokenizer that cannot produce the words of its own vocabulary: the model reads other words than it was trained on.

Nothing is refused here; :func:`ticketlab.backbone.tokenizer.load` refuses a tokenizer that does not fit the model.

For example, a tokenizer without its tokenizer_config.json is loaded as if it were uncased. That raises no error, so the tokenizer is
tried on words of the vocabulary.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from ticketlab.core.formatting import percent

SAMPLED_TOKENS = 4000
"""Tokens of a vocabulary that are examined, evenly spread. Smaller vocabularies are examined completely."""
SAMPLED_WORDS = 100
"""Words that are tokenised for each check."""
FEWEST, LEAST = 3, 0.005
"""A vocabulary counts as having capitals, or accents, if at least this number and this fraction of its words have them."""
CASE = "do_lower_case"
ACCENTS = "strip_accents"


def tokenizer_warnings(tokenizer: Any) -> list[str]:
    """Return a one-line warning for each mismatch of a tokenizer and its vocabulary; usually none."""
    words = _words(tokenizer)
    warnings: list[str] = []
    for has, does, what, setting in (
        (has_capitals, "lower-cases its texts", "capitals", CASE),
        (has_accents, "strips accents", "accents", ACCENTS),
    ):
        affected = [word for word in words if has(word)]
        if len(affected) < max(FEWEST, LEAST * len(words)):
            continue
        results = _tokenized(tokenizer, affected)
        if not any(has(text) for text, _ in results.values()):
            warnings.append(
                f"the tokenizer {does}, but {percent(len(affected) / len(words))} of the words in its vocabulary have {what} "
                f"({_example(results)}): the model reads other words than it was trained on, unless it was trained with this tokenizer; "
                f'"{setting}": false in tokenizer_config.json keeps them'
            )
    if not warnings and not any(map(has_capitals, words)):
        capitalized = [word.capitalize() for word in words if word.isascii() and len(word) > 1]
        results = _tokenized(tokenizer, capitalized)
        lower = _tokenized(tokenizer, [word.lower() for word in capitalized])
        all_unknown = all(unknown for _, unknown in results.values())
        if len(capitalized) >= FEWEST and all_unknown and not all(unknown for _, unknown in lower.values()):
            warnings.append(
                f"the tokenizer keeps capitals, but its vocabulary has none: a word with a capital becomes unknown ({_example(results)}) "
                f'unless texts are lower-cased first; "{CASE}": true in tokenizer_config.json does that'
            )
    if not warnings and len(words) >= FEWEST:
        results = _tokenized(tokenizer, words)
        unknown_words = {word: result for word, result in results.items() if result[1]}
        if 2 * len(unknown_words) > len(results):
            warnings.append(
                f"the tokenizer turns most words of its own vocabulary into unknown tokens ({_example(unknown_words)}): it is not the "
                "tokenizer that the vocabulary was made with"
            )
    return warnings


def has_capitals(text: str) -> bool:
    """Return whether lower-casing changes a text."""
    return text != text.lower()


def has_accents(text: str) -> bool:
    """Return whether stripping accents changes a text: it has a letter with a nonspacing mark, in any script."""
    return any(unicodedata.category(character) == "Mn" for character in unicodedata.normalize("NFD", text))


def unknown_token_id(tokenizer: Any) -> int | None:
    """Return the id of the unknown token; None if there is none, as in byte-level vocabularies."""
    unknown = tokenizer.unk_token_id
    if unknown is None and tokenizer.is_fast:
        token = getattr(tokenizer.backend_tokenizer.model, "unk_token", None)
        unknown = tokenizer.backend_tokenizer.token_to_id(token) if token else None
    special = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)
    return None if unknown is None or unknown in special else int(unknown)  # GPT-2 uses its end-of-text token as unknown token


def _words(tokenizer: Any) -> list[str]:
    """Return words that are a single token, made of letters only, in the order of their ids; at most :data:`SAMPLED_TOKENS`."""
    ids = tokenizer.get_vocab()
    special = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    tokens = [token for token in sorted(ids, key=ids.__getitem__) if token not in special]
    texts = (_text(tokenizer, token) for token in tokens[:: -(-len(tokens) // SAMPLED_TOKENS) or 1])
    return list(dict.fromkeys(text for text in texts if text and all(unicodedata.category(character)[0] in "LM" for character in text)))


def _text(tokenizer: Any, *tokens: str) -> str:
    text: str = tokenizer.convert_tokens_to_string(list(tokens))
    return text.strip().removeprefix("▁").removeprefix("Ġ")


def _tokenized(tokenizer: Any, words: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Tokenise a sample of the words. Return, by word, the text of its known tokens and whether it has an unknown one."""
    unknown = unknown_token_id(tokenizer)
    sample = words[:: -(-len(words) // SAMPLED_WORDS) or 1]
    rows = tokenizer(list(sample), add_special_tokens=False)["input_ids"] if sample else []
    results = {}
    for word, ids in zip(sample, rows, strict=True):
        known = [token for token in ids if token != unknown]
        results[word] = _text(tokenizer, *tokenizer.convert_ids_to_tokens(known)), len(known) < len(ids)
    return results


def _example(results: dict[str, tuple[str, bool]]) -> str:
    length: Callable[[str], int] = len
    word = max(results, key=length)
    text, unknown = results[word]
    return f"`{word}` becomes `{text}`" if text or not unknown else f"`{word}` becomes an unknown token"
