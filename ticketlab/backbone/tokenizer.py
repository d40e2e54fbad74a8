"""Tokenizers: loaded, made to go with their model, and refused where they cannot."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticketlab.backbone.adapters import adapter_of, has_adapter
from ticketlab.backbone.model_config import LFS, read_json
from ticketlab.backbone.transformers_messages import transformers_problems
from ticketlab.backbone.vocabulary import doubts
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
SETTINGS = "tokenizer_config.json"
RARE = "\U00013000 \ua66e \U0001f996"
"""Characters that hardly a vocabulary has."""


def load(name: str, source: str, config: PretrainedConfig, warn: Callable[[str], None]) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a model; its ``model_max_length`` is at most what the model takes, as far as the config says that.

    ``warn`` is called with what makes the model read other words than it learnt.

    :raises UsageError: there is none, or it does not go with the model: more tokens than word embeddings, no padding token, no room.
    """
    folder = Path(source)
    settings = _check_files(name, folder) if folder.is_dir() else {}
    with transformers_problems(name):
        tokenizer = _load(source)
    _check_size(name, tokenizer, config)
    tokenizer.model_max_length = _max_length(name, tokenizer, config)
    known = has_adapter(config.model_type)
    if known and tokenizer.pad_token_id is None:
        raise UsageError(
            f'{name}: its tokenizer has no padding token; name the one that the model was trained with ("pad_token" in {SETTINGS})'
        )
    try:
        tokenizer(RARE, verbose=False)
    except Exception as problem:  # tokenizers raises nothing more specific
        raise UsageError(
            f"{name}: its tokenizer fails on characters that its vocabulary lacks ({str(problem)[:100]}); "
            f'name its unknown token ("unk_token") in tokenizer.json and {SETTINGS}'
        ) from None
    if known and not tokenizer.num_special_tokens_to_add(pair=False):
        warn("the tokenizer puts no special tokens such as [CLS] and [SEP] around a text, and the model was pre-trained with them")
    if settings.get("auto_map"):
        used = type(tokenizer).__name__
        warn(f"the tokenizer names code of its own (`auto_map` in {SETTINGS}), which is never run: it is loaded as `{used}`")
    for doubt in doubts(tokenizer):
        warn(doubt)
    return tokenizer


def fit_inputs(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Keep a tokenizer from making segment ids for a model that takes none, or knows one segment alone."""
    takes = "token_type_ids" in inspect.signature(model.forward).parameters
    if not takes or getattr(model.config, "type_vocab_size", 2) < 2:
        tokenizer.model_input_names = [given for given in tokenizer.model_input_names if given != "token_type_ids"]


def room(tokenizer: PreTrainedTokenizerBase, max_length: int, texts: int) -> int:
    """Return how many special tokens go around so many texts, after making sure that ``max_length`` has room for a token of each.

    The longer text of a pair is cut first, so neither loses all of its tokens then.

    :raises UsageError: it has not.
    """
    special = int(tokenizer.num_special_tokens_to_add(pair=texts > 1))
    if max_length < special + texts:
        of = "a text" if texts == 1 else "a pair of texts"
        raise UsageError(
            f"max_length {max_length}: {of} needs {counted(special + texts, 'token')} or more, {special} of them special ones; "
            "raise --max-length"
        )
    return special


def filler(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the token to give a model in place of a text without any: the one that begins or ends a text.

    :raises UsageError: the tokenizer has no such token.
    """
    known = (tokenizer.bos_token_id, tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)
    found = next((token for token in known if token is not None), None)
    if found is None:
        raise UsageError(
            "a text comes to no token, and the tokenizer has no token for the beginning or the end of one; leave empty texts out"
        )
    return int(found)


def _check_files(name: str, folder: Path) -> dict[str, Any]:
    """Make sure that a folder has a tokenizer, and return the settings that are beside it.

    :raises UsageError: it has none, or only a pointer to it.
    """
    found = [folder / file for file in FILES if (folder / file).is_file()]
    if not found:
        raise UsageError(f"{name}: the folder has no tokenizer ({', '.join(FILES[:3])}); save the tokenizer beside the model")
    for file in found:
        with file.open("rb") as content:
            if content.read(len(LFS)) == LFS:
                raise UsageError(f"{name}: {file.name} is a pointer of Git LFS, not the tokenizer; `git lfs pull` fetches it")
    return read_json(name, folder / SETTINGS) if (folder / SETTINGS).is_file() else {}


def _load(source: str) -> PreTrainedTokenizerBase:
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        return AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except ValueError as problem:
        if "TokenizersBackend" not in str(problem):
            raise
        return PreTrainedTokenizerFast.from_pretrained(source)  # what transformers 5 writes for the same class


def _check_size(name: str, tokenizer: PreTrainedTokenizerBase, config: PretrainedConfig) -> None:
    """Refuse a tokenizer with ids beyond the word embeddings, or one out of nothing, which transformers 5 makes of a folder without any."""
    rows = getattr(config, "vocab_size", None)
    if not isinstance(rows, int):
        return
    ids = tokenizer.get_vocab()
    size = len(tokenizer)
    last = max(ids, key=ids.__getitem__, default="")
    if not rows // 2 <= size <= rows:
        raise UsageError(f"{name}: the tokenizer knows {size} tokens, the model {rows}; they do not belong together")
    if ids.get(last, 0) >= rows:
        raise UsageError(
            f"{name}: the tokenizer's `{last}` has the number {ids[last]}, and the model has {rows} word embeddings, from 0 on"
        )


def _max_length(name: str, tokenizer: PreTrainedTokenizerBase, config: PretrainedConfig) -> int:
    """Return the most tokens that both take.

    :raises UsageError: one of them takes none.
    """
    own: Any = tokenizer.model_max_length
    if isinstance(own, bool) or not isinstance(own, int | float) or math.isnan(own) or own < 1:
        raise UsageError(f"{name}: {SETTINGS}: `model_max_length` must be a number of tokens, and is {own!r}")
    limit = getattr(config, "max_position_embeddings", None)
    try:
        most = adapter_of(config.model_type).max_length(config) if has_adapter(config.model_type) else limit
    except (TypeError, ValueError, AttributeError):
        raise UsageError(
            f"{name}: config.json does not say how many tokens the model takes (`max_position_embeddings` is {limit!r})"
        ) from None
    if has_adapter(config.model_type) and (most is None or most < 1):
        raise UsageError(f"{name}: config.json: a model of {most} tokens at most takes no text (`max_position_embeddings` is {limit!r})")
    return int(min(own, most)) if isinstance(most, int) and most > 0 else int(min(own, 2**62))
