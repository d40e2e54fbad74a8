"""The hooks that others have put on a model."""

from __future__ import annotations

from torch import nn


def count_hooks(model: nn.Module) -> int:
    """Return the number of hooks on a model without those of transformers, which stay once hidden states have been asked for."""
    hooks = (hook for module in model.modules() for hook in (*module._forward_hooks.values(), *module._forward_pre_hooks.values()))
    return sum(not str(getattr(hook, "__module__", "")).startswith("transformers.") for hook in hooks)
