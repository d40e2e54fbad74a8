"""Limits that a model of any family puts on its input: the maximum length, and the number of end tokens in the rows of a batch."""

from __future__ import annotations

from torch import nn


def position_offset(model: nn.Module) -> int:
    """Return the first position that a model uses: the padding index plus one in RoBERTa and related families, else 0."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return module.padding_idx + 1
    return 0


def max_tokens(model: nn.Module) -> int | None:
    """Return the maximum length of a model's input in tokens, including special tokens; None if its config sets no limit."""
    positions = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    return positions - position_offset(model) if isinstance(positions, int) and positions > 0 else None


def pooled_eos_token(model: nn.Module) -> int | None:
    """Return the end-of-text token from which an encoder-decoder model classifies a text; None for other models.

    All rows of a batch must contain it equally often.
    """
    config = getattr(model, "config", None)
    return getattr(config, "eos_token_id", None) if getattr(config, "is_encoder_decoder", False) else None
