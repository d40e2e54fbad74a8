"""Whether a tokenizer can produce the words of its own vocabulary: where it cannot, the model reads other words than it learnt.

A checkpoint that lost its tokenizer_config.json is read as if it were uncased. Nothing fails then, so the tokenizer is tried on words
of the vocabulary.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from ticketlab.core.formatting import percent

LOOKED_AT = 4000
"""Tokens of a vocabulary that are looked at, evenly spread; smaller ones are looked at whole."""
TRIED = 100
"""Words that are tokenised for each question."""
FEWEST, LEAST = 3, 0.005
"""A vocabulary has capitals, or accents, if so many of its words do, and this share of them."""
CASE = "do_lower_case"
ACCENTS = "strip_accents"


def doubts(tokenizer: Any) -> list[str]:
    """Return what is wrong between a tokenizer and its vocabulary, in one line each; most often nothing."""
    words = _words(tokenizer)
    found: list[str] = []
    for has, does, what, setting in (
        (has_capitals, "lower-cases its texts", "capitals", CASE),
        (has_accents, "strips accents", "accents", ACCENTS),
    ):
        some = [word for word in words if has(word)]
        if len(some) < max(FEWEST, LEAST * len(words)):
            continue
        became = _tokenized(tokenizer, some)
        if not any(has(text) for text, _ in became.values()):
            found.append(
                f"the tokenizer {does}, and {percent(len(some) / len(words))} of the words in its vocabulary have {what} "
                f"({_example(became)}): the model reads other words than it learnt, unless it was trained like this; "
                f'"{setting}": false in tokenizer_config.json keeps them'
            )
    if not found and not any(map(has_capitals, words)):
        capital = [word.capitalize() for word in words if word.isascii() and len(word) > 1]
        became = _tokenized(tokenizer, capital)
        plain = _tokenized(tokenizer, [word.lower() for word in capital])
        if len(capital) >= FEWEST and all(unknown for _, unknown in became.values()) and not all(unknown for _, unknown in plain.values()):
            found.append(
                f"the tokenizer keeps capitals, and its vocabulary has none: a word with a capital becomes unknown ({_example(became)}), "
                f'unless the texts are lower-cased before; "{CASE}": true in tokenizer_config.json does that'
            )
    if not found and len(words) >= FEWEST:
        became = _tokenized(tokenizer, words)
        lost = {word: seen for word, seen in became.items() if seen[1]}
        if 2 * len(lost) > len(became):
            found.append(
                f"the tokenizer makes unknown tokens of most words in its own vocabulary ({_example(lost)}): it is not the one that the "
                "vocabulary was made with"
            )
    return found


def has_capitals(text: str) -> bool:
    """Say whether there is a letter in a text that lower-casing changes."""
    return text != text.lower()


def has_accents(text: str) -> bool:
    """Say whether there is a letter in a text that stripping accents changes: one with a nonspacing mark, in any script."""
    return any(unicodedata.category(character) == "Mn" for character in unicodedata.normalize("NFD", text))


def unknown_id(tokenizer: Any) -> int | None:
    """Return the id of the token that stands for what the vocabulary lacks; None where there is none, as in vocabularies of bytes."""
    found = tokenizer.unk_token_id
    if found is None and tokenizer.is_fast:
        token = getattr(tokenizer.backend_tokenizer.model, "unk_token", None)
        found = tokenizer.backend_tokenizer.token_to_id(token) if token else None
    around = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)
    return None if found is None or found in around else int(found)  # GPT-2's is the end of the text under another name


def _words(tokenizer: Any) -> list[str]:
    """Return words of letters that are single tokens at the beginning of a word, at most :data:`LOOKED_AT`, in the order of their ids."""
    ids = tokenizer.get_vocab()
    special = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    tokens = [token for token in sorted(ids, key=ids.__getitem__) if token not in special]
    texts = (_text(tokenizer, token) for token in tokens[:: -(-len(tokens) // LOOKED_AT) or 1])
    return list(dict.fromkeys(text for text in texts if text and all(unicodedata.category(character)[0] in "LM" for character in text)))


def _text(tokenizer: Any, *tokens: str) -> str:
    text: str = tokenizer.convert_tokens_to_string(list(tokens))
    return text.strip().removeprefix("▁").removeprefix("Ġ")


def _tokenized(tokenizer: Any, words: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Return what some of the words become: the text of their known tokens, and whether there is an unknown one."""
    unknown = unknown_id(tokenizer)
    chosen = words[:: -(-len(words) // TRIED) or 1]
    rows = tokenizer(list(chosen), add_special_tokens=False)["input_ids"] if chosen else []
    found = {}
    for word, ids in zip(chosen, rows, strict=True):
        known = [token for token in ids if token != unknown]
        found[word] = _text(tokenizer, *tokenizer.convert_ids_to_tokens(known)), len(known) < len(ids)
    return found


def _example(became: dict[str, tuple[str, bool]]) -> str:
    longest: Callable[[str], int] = len
    word = max(became, key=longest)
    text, unknown = became[word]
    return f"`{word}` becomes `{text}`" if text or not unknown else f"`{word}` becomes an unknown token"
