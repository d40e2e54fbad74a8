"""Dropout on a CPU, with few random numbers.

torch draws a random number for each element, one after the other, which takes five times as long as all the rest of dropout. Here one of
64 bits decides on four elements: an element is kept if its 16 bits are below a threshold. So the probability is a multiple of 1 / 65,536,
and the scale of what is kept is that of this probability, so that the expectation is exact.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

VALUES = 2**16
LOWEST = -(2**63)


@contextlib.contextmanager
def few_random_numbers(device: torch.device) -> Iterator[None]:
    """Compute the dropout of models, also that of attention, with few random numbers inside the block, if ``device`` is a CPU."""
    if device.type != "cpu":
        yield
        return
    with _Replaced():
        yield


def dropout(values: Tensor, probability: float) -> Tensor:
    """Return ``values`` with elements set to zero with this probability, which is above 0 and below 1, and the others scaled.

    Random numbers are drawn from torch's generator of the CPU.
    """
    number = values.numel()
    bits = torch.empty(-(-number // 4), dtype=torch.int64).random_(LOWEST, None).view(torch.int16)[:number].view(values.shape)
    below = min(max(round((1 - probability) * VALUES), 1), VALUES - 1)
    kept = torch.lt(bits, below - VALUES // 2, out=torch.empty(values.shape, dtype=torch.uint8))
    return values * kept * (VALUES / below)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, probability: float, scale: float | None = None) -> Tensor:
    """Return what ``scaled_dot_product_attention`` returns of tensors (rows, heads, tokens, width), with :func:`dropout`.

    ``mask`` is boolean, or is added to the scores.
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * scale) @ key.transpose(-2, -1)
    if mask is not None:
        if mask.dtype == torch.bool:
            mask = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, torch.finfo(scores.dtype).min)
        scores = scores + mask
    probabilities = scores.softmax(dim=-1, dtype=torch.float32)
    return dropout(probabilities, probability).to(value.dtype) @ value


class _Replaced(TorchFunctionMode):
    """Replaces dropout, and attention with dropout, by the functions of this module."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is functional.dropout:
            return self._dropout(function, *args, **kwargs)
        if function is functional.scaled_dot_product_attention:
            return self._attention(function, *args, **kwargs)
        return function(*args, **kwargs)

    def _dropout(self, original: Any, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or not 0 < p < 1 or inplace:
            output: Tensor = original(input, p, training, inplace)
            return output
        return dropout(input, p)

    def _attention(
        self,
        original: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **more: Any,
    ) -> Tensor:
        if not 0 < dropout_p < 1 or is_causal or more.get("enable_gqa"):
            output: Tensor = original(query, key, value, attn_mask, dropout_p, is_causal, **more)
            return output
        return attention(query, key, value, attn_mask, dropout_p, more.get("scale"))
