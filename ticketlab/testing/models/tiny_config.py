"""Configs of tiny models: the sizes of each supported family, and those of any other text model of transformers."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal

from ticketlab.core.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from transformers import PretrainedConfig

Family = Literal["bert", "roberta", "electra", "distilbert", "deberta-v2", "mpnet", "albert", "modernbert", "gpt2"]
MAX_LENGTH = 128
COMMON: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 8,
    "intermediate_size": 64,
    "max_position_embeddings": MAX_LENGTH,
    "initializer_range": 0.1,
}
OWN: dict[str, dict[str, Any]] = {
    "roberta": {"type_vocab_size": 1},
    "mpnet": {"relative_attention_num_buckets": 32},
    "electra": {"embedding_size": 16},
    "albert": {"embedding_size": 16, "num_hidden_layers": 4, "num_hidden_groups": 2},
    "distilbert": {"hidden_dim": 64},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16, "norm_rel_ebd": "layer_norm"},
    "modernbert": {"local_attention": 16, "global_attn_every_n_layers": 2},
    "gpt2": {"n_inner": 64},
}
"""What a family needs besides the common sizes."""
OFFSET = 2
"""Positions that are never used by families whose positions begin after the padding index, 1."""


def tiny_config(model: str | PretrainedConfig) -> PretrainedConfig:
    """Return a config of tiny sizes for a model type, or a copy of a config.

    :raises UsageError: transformers has no such model type, or it has both an encoder and a decoder.
    """
    config = _of_type(model) if isinstance(model, str) else copy.deepcopy(model)
    if getattr(config, "is_encoder_decoder", False):
        raise UsageError(f"`{config.model_type}` models have both an encoder and a decoder; choose a model type with one of them")
    return config


def is_encoder(model_type: str) -> bool:
    """Return whether models of a type are encoders: transformers gives them a masked-language-model head."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    return model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES


def pads_with_one(model_type: str) -> bool:
    """Return whether the padding token of an encoder has the id 1, as in RoBERTa, whose positions begin after it."""
    return is_encoder(model_type) and getattr(_default(model_type), "pad_token_id", None) == 1


def _of_type(model_type: str) -> PretrainedConfig:
    default = _default(model_type)
    sizes = {name: value for name, value in COMMON.items() if hasattr(default, name)}
    if pads_with_one(model_type) and "max_position_embeddings" in sizes:
        sizes["max_position_embeddings"] += OFFSET
    return _made(model_type, **(sizes | OWN.get(model_type, {})))


def _default(model_type: str) -> PretrainedConfig:
    from transformers import CONFIG_MAPPING

    if model_type not in CONFIG_MAPPING:
        raise UsageError(f"transformers has no model type `{model_type}`{did_you_mean(model_type, CONFIG_MAPPING)}")
    return _made(model_type)


def _made(model_type: str, **values: Any) -> PretrainedConfig:
    from transformers import AutoConfig

    try:
        return AutoConfig.for_model(model_type, **values)
    except Exception as problem:  # a config of parts, such as that of an encoder-decoder, has no defaults
        reason = " ".join(str(problem).split())[:150]
        raise UsageError(f"`{model_type}` has no config of tiny sizes ({type(problem).__name__}: {reason}); pass a config") from None
