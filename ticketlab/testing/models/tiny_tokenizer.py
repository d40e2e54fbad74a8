"""Tokenizers of tiny models, with the special tokens of their families."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticketlab.testing.models.tiny_config import MAX_LENGTH, OFFSET, is_encoder, pads_with_one
from ticketlab.testing.models.words import vocabulary

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

BERT_SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
ROBERTA_SPECIAL = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
DECODER_SPECIAL = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
"""A decoder has no padding token and puts nothing around a text."""


def tiny_tokenizer(config: PretrainedConfig) -> PreTrainedTokenizerBase:
    """Return the tokenizer of a tiny model, and set the size of the vocabulary and the ids of the special tokens in its config.

    An encoder has the special tokens of BERT, or those of RoBERTa if the padding token of its family has the id 1; a decoder has those of
    GPT-2. Its maximum length is 128 tokens, or that of the config if it is lower.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors  # type: ignore[import-untyped]
    from transformers import PreTrainedTokenizerFast

    encodes, like_roberta = is_encoder(config.model_type), pads_with_one(config.model_type)
    special = DECODER_SPECIAL if not encodes else ROBERTA_SPECIAL if like_roberta else BERT_SPECIAL
    ids = {token: index for index, token in enumerate(vocabulary(tuple(special.values())))}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=special["unk_token"]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    if encodes:
        cls, sep = special["cls_token"], special["sep_token"]
        pair = f"{cls} $A {sep} {sep} $B {sep}" if like_roberta else f"{cls} $A {sep} $B:1 {sep}:1"
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{cls} $A {sep}", pair=pair, special_tokens=[(cls, ids[cls]), (sep, ids[sep])]
        )
    segments = encodes and getattr(config, "type_vocab_size", 0) >= 2
    names = ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"]
    most = getattr(config, "max_position_embeddings", None) or MAX_LENGTH
    most = min(MAX_LENGTH, most - OFFSET if like_roberta else most)
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=most, model_input_names=names, **special)
    _set_ids(config, made)
    return made


def _set_ids(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> None:
    """Set the ids in a config that its family has, those of [CLS] and [SEP] as the begin and end of a text where those are used."""
    config.vocab_size, config.pad_token_id = len(tokenizer), tokenizer.pad_token_id
    first = tokenizer.cls_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    last = tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id
    for name, value in (("bos_token_id", first), ("cls_token_id", first), ("eos_token_id", last), ("sep_token_id", last)):
        if getattr(config, name, None) is not None:
            setattr(config, name, value)
