"""The hidden state that stands for a whole text: that of the token which the family classifies from."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ticketlab.backbone.adapters import adapter_of, has_adapter


def sentence_states(model: Any, states: Tensor, attention_mask: Tensor) -> Tensor:
    """Return the state of the token from which ``model`` classifies each text, (rows, width).

    That is the last token in a decoder, whose first one sees no other, and the first one in any other family. ``states`` is
    (rows, length, width), such as the last hidden states; ``attention_mask`` is (rows, length), with padding at the end.
    """
    model_type = model.config.model_type
    if not (has_adapter(model_type) and adapter_of(model_type).decoder):
        return states[:, 0]
    return states[torch.arange(len(states), device=states.device), attention_mask.sum(dim=1) - 1]
