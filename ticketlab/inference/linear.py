"""Batch-invariant linear layers: the result for a token does not depend on the number of tokens in the batch.

Matrix libraries choose a kernel by the number of rows, and kernels sum in different orders. Some shapes give the same bits for every
multiple of 16 rows; this is tested on the machine, once for each shape. For the others the tokens are computed in chunks of a fixed size.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import torch
from attrs import define
from torch import Tensor, nn
from torch.nn import functional

STEP = 16
_CHUNK = {"cpu": 256}
_CHUNK_ELSEWHERE = 1024
_TESTED = (16, 48, 112, 272, 496, 768)
_BATCH_INVARIANT = (nn.Embedding, nn.LayerNorm, nn.RMSNorm)


@define
class _BatchInvariantLinear:
    """The batch-invariant forward pass of a linear layer. ``dtype`` is what it computes in; None: the dtype of its weights."""

    module: nn.Linear
    dtype: torch.dtype | None
    signature: tuple[tuple[int, int], ...] = ()
    cached: tuple[Tensor, Tensor | None] | None = None

    def parameters(self) -> tuple[Tensor, Tensor | None]:
        """Return weight and bias. If they are derived (parametrized or cast), they are recomputed only when their sources have changed."""
        if self.dtype is None and not nn.utils.parametrize.is_parametrized(self.module):
            return self.module.weight, self.module.bias
        signature = tuple((parameter.data_ptr(), parameter._version) for parameter in self.module.parameters())
        if self.cached is None or signature != self.signature:
            weight, bias = self.module.weight.detach(), self.module.bias
            self.cached = weight.to(self.dtype or weight.dtype), None if bias is None else bias.detach().to(self.dtype or bias.dtype)
            self.signature = signature
        return self.cached

    def __call__(self, tokens: Tensor) -> Tensor:
        with torch._C.DisableTorchFunction():  # packing intercepts every function for the sake of attention, which is none of these
            return self._output(tokens)

    def _output(self, tokens: Tensor) -> Tensor:
        weight, bias = self.parameters()
        flat = tokens.reshape(-1, tokens.shape[-1]).to(weight.dtype)
        invariant = is_batch_invariant(tuple(weight.shape), weight.dtype, weight.device, torch.get_num_threads())
        size = STEP if invariant else _CHUNK.get(weight.device.type, _CHUNK_ELSEWHERE)
        missing = -len(flat) % size
        padded = functional.pad(flat, (0, 0, 0, missing)) if missing else flat
        if invariant or len(padded) == size:
            output = functional.linear(padded, weight, bias)
        else:
            output = torch.cat([functional.linear(chunk, weight, bias) for chunk in torch.split(padded, size)])
        return output[: len(flat)].reshape(*tokens.shape[:-1], -1)


class BatchInvariantLinears:
    """The linear layers of a model. ``complete``: every other layer with parameters is known to be batch-invariant unchanged."""

    def __init__(self, model: nn.Module, dtype: torch.dtype | None) -> None:
        self._linears = [
            _BatchInvariantLinear(module, dtype)
            for module in model.modules()
            if isinstance(module, nn.Linear) and _plain(module, nn.Linear)
        ]
        inside = {id(part) for linear in self._linears for part in linear.module.modules()}  # parametrizations are modules too
        held = {
            id(parameter) for linear in self._linears for parameter in linear.module.parameters()
        }  # some modules are registered under two names
        others = [
            module
            for module in model.modules()
            if id(module) not in inside and any(id(parameter) not in held for parameter in module.parameters(recurse=False))
        ]
        self.complete = all(_plain(module, *_BATCH_INVARIANT) for module in others)

    @contextlib.contextmanager
    def enabled(self) -> Iterator[None]:
        """Replace the layers' forward passes by batch-invariant ones during the block; their hooks are called as usual."""
        for linear in self._linears:
            vars(linear.module)["forward"] = linear
        try:
            yield
        finally:
            for linear in self._linears:
                del vars(linear.module)["forward"]

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_linears": [_BatchInvariantLinear(linear.module, linear.dtype) for linear in self._linears]}


def _plain(module: nn.Module, *kinds: type[nn.Module]) -> bool:
    """Return whether a module has the forward pass of one of ``kinds``, unchanged."""
    return "forward" not in vars(module) and any(type(module).forward is kind.forward for kind in kinds)


@functools.cache
def is_batch_invariant(shape: tuple[int, int], dtype: torch.dtype, device: torch.device, threads: int) -> bool:
    """Return whether products of this shape give the same bits for every multiple of 16 rows; a few numbers of rows are tested.

    ``threads`` is only part of the cache key: the number of threads affects the choice of kernels too.
    """
    outputs, inputs = shape
    generator = torch.Generator().manual_seed(0)

    def random(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator).to(device, dtype)

    weight, bias, tokens = random(outputs, inputs), random(outputs), random(_TESTED[-1] + STEP, inputs)
    whole = functional.linear(tokens, weight, bias)
    return all(
        torch.equal(functional.linear(tokens[start : start + count], weight, bias), whole[start : start + count])
        for count in _TESTED
        for start in (0, STEP)
    )
