"""How many tokens a model takes, and which one it reads a text from."""

from __future__ import annotations

from torch import nn


def positions_before_the_first(model: nn.Module) -> int:
    """RoBERTa and its kin count positions from the padding index plus one."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return module.padding_idx + 1
    return 0


def most_tokens(model: nn.Module) -> int | None:
    """Return the most tokens that a model of any family takes, special tokens included; None where its config sets no limit."""
    found = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    return found - positions_before_the_first(model) if isinstance(found, int) and found > 0 else None


def text_end(model: nn.Module) -> int | None:
    """Return the token that a classifier with encoder and decoder reads a text from: rows of a batch must have the same number of it.

    None for all others.
    """
    config = getattr(model, "config", None)
    return getattr(config, "eos_token_id", None) if getattr(config, "is_encoder_decoder", False) else None
