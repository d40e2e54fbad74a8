"""Load a model's tokenizer, check that it fits the model, and adjust it: maximum length, inputs, special tokens.

:mod:`ticketlab.backbone.vocabulary_warnings` compares it with its own vocabulary.
"""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticketlab.backbone.adapters import adapter_of, has_adapter
from ticketlab.backbone.model_config import LFS, read_json
from ticketlab.backbone.transformers_messages import translate_errors
from ticketlab.backbone.vocabulary_warnings import tokenizer_warnings
from ticketlab.core import plugin_errors
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
SETTINGS = "tokenizer_config.json"
RARE = "\U00013000 \ua66e \U0001f996"
"""Characters that hardly any vocabulary has."""


def load(name: str, source: str, config: PretrainedConfig, warn: Callable[[str], None]) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a model. Its ``model_max_length`` is limited to that of the model if the config has one.

    ``warn`` is called with problems that make the model read other words than it was trained on.

    :raises UsageError: there is none, or it does not fit the model: more tokens than word embeddings, no padding token, no maximum length.
    """
    folder = Path(source)
    settings = _check_files(name, folder) if folder.is_dir() else {}
    with translate_errors(name):
        tokenizer = _load(source)
    _check_size(name, tokenizer, config)
    tokenizer.model_max_length = _max_length(name, tokenizer, config)
    known = has_adapter(config.model_type)
    decodes = known and adapter_of(config.model_type).decoder
    if known and not decodes and tokenizer.pad_token_id is None:
        raise UsageError(
            f'{name}: its tokenizer has no padding token; set the one that the model was trained with ("pad_token" in {SETTINGS})'
        )
    try:
        tokenizer(RARE, verbose=False)
    except Exception as problem:  # tokenizers raises plain exceptions
        raise UsageError(
            f"{name}: its tokenizer fails on characters that its vocabulary lacks ({str(problem)[:100]}); "
            f'set its unknown token ("unk_token") in tokenizer.json and {SETTINGS}'
        ) from None
    if known and not decodes and not tokenizer.num_special_tokens_to_add(pair=False):
        warn("the tokenizer puts no special tokens such as [CLS] and [SEP] around a text, but the model was pre-trained with them")
    if settings.get("auto_map"):
        used = type(tokenizer).__name__
        warn(f"the tokenizer has custom code (`auto_map` in {SETTINGS}), which is never run: it is loaded as `{used}`")
    for warning in tokenizer_warnings(tokenizer):
        warn(warning)
    return tokenizer


def drop_unused_inputs(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Make a tokenizer omit segment ids if the model does not accept them, or has only one segment."""
    accepts_segments = "token_type_ids" in inspect.signature(model.forward).parameters
    if not accepts_segments or getattr(model.config, "type_vocab_size", 2) < 2:
        tokenizer.model_input_names = [name for name in tokenizer.model_input_names if name != "token_type_ids"]


def pad_with_end_of_text(name: str, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Make batches of a decoder possible: give the tokenizer a padding token if it has none, and tell the model which one it is.

    The model classifies from the last token of a row that is not padding.

    :raises UsageError: the tokenizer has neither a padding token nor one that ends a text.
    """
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token is None:
            raise UsageError(f'{name}: its tokenizer has neither a padding token nor one that ends a text; set "pad_token" in {SETTINGS}')
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "right"
    model.config.pad_token_id = tokenizer.pad_token_id


def special_token_count(tokenizer: PreTrainedTokenizerBase, max_length: int, texts: int) -> int:
    """Return the number of special tokens in a row of ``texts`` texts, after checking that ``max_length`` has room for one token of each.

    The longer text of a pair is truncated first, so then neither text loses all its tokens.

    :raises UsageError: ``max_length`` is too small.
    """
    special = int(tokenizer.num_special_tokens_to_add(pair=texts > 1))
    if max_length < special + texts:
        row = "a text" if texts == 1 else "a pair of texts"
        raise UsageError(
            f"max_length {max_length}: {row} needs {counted(special + texts, 'token')} or more, {special} of them special ones; "
            "raise --max-length"
        )
    return special


def placeholder_token(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the token that replaces a text without any tokens: one that begins or ends a text.

    :raises UsageError: the tokenizer has no such token.
    """
    special = (tokenizer.bos_token_id, tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)
    placeholder = next((token for token in special if token is not None), None)
    if placeholder is None:
        raise UsageError("a text has no tokens, and the tokenizer has no token for the beginning or end of a text; remove empty texts")
    return int(placeholder)


def _check_files(name: str, folder: Path) -> dict[str, Any]:
    """Check that a folder has a tokenizer, and return the content of its tokenizer_config.json.

    :raises UsageError: it has none, or only a Git LFS pointer.
    """
    files = [folder / file for file in FILES if (folder / file).is_file()]
    if not files:
        raise UsageError(f"{name}: the folder has no tokenizer ({', '.join(FILES[:3])}); save the tokenizer with the model")
    for file in files:
        with file.open("rb") as content:
            if content.read(len(LFS)) == LFS:
                raise UsageError(f"{name}: {file.name} is a Git LFS pointer, not the tokenizer; `git lfs pull` fetches it")
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
    """Refuse a tokenizer with more ids than word embeddings, or the empty one that transformers 5 makes for a folder without any."""
    rows = getattr(config, "vocab_size", None)
    if not isinstance(rows, int):
        return
    ids = tokenizer.get_vocab()
    size = len(tokenizer)
    last = max(ids, key=ids.__getitem__, default="")
    if not rows // 2 <= size <= rows:
        raise UsageError(f"{name}: the tokenizer has {size} tokens and the model {rows}; they do not match")
    if ids.get(last, 0) >= rows:
        raise UsageError(
            f"{name}: the tokenizer's `{last}` has the id {ids[last]}, but the ids of the model's word embeddings end at {rows - 1}"
        )


def _max_length(name: str, tokenizer: PreTrainedTokenizerBase, config: PretrainedConfig) -> int:
    """Return the maximum length in tokens that both tokenizer and model accept.

    :raises UsageError: one of them has an invalid maximum.
    """
    own: Any = tokenizer.model_max_length
    if isinstance(own, bool) or not isinstance(own, int | float) or math.isnan(own) or own < 1:
        raise UsageError(f"{name}: {SETTINGS}: `model_max_length` must be a number of tokens, not {own!r}")
    limit = getattr(config, "max_position_embeddings", None)
    try:
        most = adapter_of(config.model_type).max_length(config) if has_adapter(config.model_type) else limit
    except (TypeError, ValueError, AttributeError) as problem:
        if (of_plugin := plugin_errors.explained(problem)) is not None:
            raise of_plugin from problem
        raise UsageError(f"{name}: config.json has no valid maximum length of the model (`max_position_embeddings` is {limit!r})") from None
    if has_adapter(config.model_type) and (most is None or most < 1):
        raise UsageError(
            f"{name}: config.json: a maximum length of {most} tokens leaves no room for a text (`max_position_embeddings` is {limit!r})"
        )
    return int(min(own, most)) if isinstance(most, int) and most > 0 else int(min(own, 2**62))
