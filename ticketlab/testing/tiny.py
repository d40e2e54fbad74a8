"""Tiny encoders with real tokenizers, for the tests of plugins: they are written quickly and trained in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch

from ticketlab.backbone.saving import save
from ticketlab.core.errors import UsageError
from ticketlab.testing.words import vocabulary

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

Family = Literal["bert", "roberta", "electra", "distilbert", "deberta-v2", "mpnet", "albert", "modernbert", "gpt2"]
MAX_LENGTH = 128
BERT_SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
ROBERTA_SPECIAL = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}

GPT2_SPECIAL = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")


def tiny_model(family: Family, folder: str | Path, *, seed: int = 0) -> Path:
    """Write a tiny encoder with its tokenizer to a folder, in the format of a pre-trained model, and return the folder.

    The model has 2 different layers with 4 heads and 64 neurons each (ALBERT runs each twice), a hidden size of 32, a maximum length of 128
    tokens, and a vocabulary of some 400 common English words; other words are split into characters. The weights are random, initialised
    from ``seed`` without changing the global random state. There is no head. The folder can be loaded with ``from_pretrained`` and used
    wherever ticketlab takes a model.

    :raises UsageError: the family is not one of bert, roberta, electra, distilbert, deberta-v2, mpnet, albert, modernbert, gpt2.
    """
    from transformers import AutoModel

    if family not in get_args(Family):
        raise UsageError(f"unknown model family `{family}`; choose one of {', '.join(get_args(Family))}")
    tokenizer = _tokenizer(family)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = AutoModel.from_config(_config(family, tokenizer))
    return save(model, tokenizer, folder)


def _config(family: Family, tokenizer: PreTrainedTokenizerBase) -> PretrainedConfig:
    from transformers import AutoConfig

    common = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "initializer_range": 0.1}
    if family == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": MAX_LENGTH}
        return AutoConfig.for_model(family, **common, **sizes)
    if family == "gpt2":
        ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_inner": 64, "n_positions": MAX_LENGTH}
        return AutoConfig.for_model(family, **common, **sizes, **ends)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    extra: dict[str, Any] = {"max_position_embeddings": MAX_LENGTH}
    if family == "roberta":
        ends = {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
        extra = {"max_position_embeddings": MAX_LENGTH + tokenizer.pad_token_id + 1, "type_vocab_size": 1, **ends}
    elif family == "mpnet":
        extra = {"max_position_embeddings": MAX_LENGTH + 2, "relative_attention_num_buckets": 32}
    elif family == "electra":
        extra["embedding_size"] = 16
    elif family == "albert":
        extra |= {"embedding_size": 16, "num_hidden_layers": 4, "num_hidden_groups": 2}
    elif family == "deberta-v2":
        extra |= {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16, "norm_rel_ebd": "layer_norm"}
    elif family == "modernbert":
        ends = {"cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id}
        extra |= {"local_attention": 16, "global_attn_every_n_layers": 2, "bos_token_id": None, "eos_token_id": None, **ends}
    return AutoConfig.for_model(family, **common, **(sizes | extra))


def _tokenizer(family: Family) -> PreTrainedTokenizerBase:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors  # type: ignore[import-untyped]
    from transformers import PreTrainedTokenizerFast

    like_roberta = family in ("roberta", "mpnet")
    special = GPT2_SPECIAL if family == "gpt2" else ROBERTA_SPECIAL if like_roberta else BERT_SPECIAL
    ids = {token: index for index, token in enumerate(vocabulary(tuple(special.values())))}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=special["unk_token"]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    if family != "gpt2":
        cls, sep = special["cls_token"], special["sep_token"]
        pair = f"{cls} $A {sep} {sep} $B {sep}" if like_roberta else f"{cls} $A {sep} $B:1 {sep}:1"
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{cls} $A {sep}", pair=pair, special_tokens=[(cls, ids[cls]), (sep, ids[sep])]
        )
    types = ["token_type_ids"] if family in ("bert", "electra", "albert") else []
    names = ["input_ids", *types, "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=MAX_LENGTH, model_input_names=names, **special)
