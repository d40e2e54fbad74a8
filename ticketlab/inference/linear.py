"""Linear layers whose result for a token does not depend on how many tokens they get.

Libraries of matrix products pick a kernel by the number of rows, and kernels sum in different orders. Some give the same bits for every
multiple of 16 rows (that is tried, on the machine, for each shape); otherwise the tokens go through in portions of one fixed size.
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
_PORTION = {"cpu": 256}
_PORTION_ELSEWHERE = 1024
_TRIED = (16, 48, 112, 272, 496, 768)
_ROW_BY_ROW = (nn.Embedding, nn.LayerNorm, nn.RMSNorm)


@define
class _Linear:
    """A linear layer that computes in portions. ``dtype`` is what it computes in, None for that of its weights."""

    module: nn.Linear
    dtype: torch.dtype | None
    signature: tuple[tuple[int, int], ...] = ()
    kept: tuple[Tensor, Tensor | None] | None = None

    def parameters(self) -> tuple[Tensor, Tensor | None]:
        """Return weight and bias. Where they are computed from others (masks, casts), that is done again only when those were changed."""
        if self.dtype is None and not nn.utils.parametrize.is_parametrized(self.module):
            return self.module.weight, self.module.bias
        signature = tuple((parameter.data_ptr(), parameter._version) for parameter in self.module.parameters())
        if self.kept is None or signature != self.signature:
            weight, bias = self.module.weight.detach(), self.module.bias
            self.kept = weight.to(self.dtype or weight.dtype), None if bias is None else bias.detach().to(self.dtype or bias.dtype)
            self.signature = signature
        return self.kept

    def __call__(self, tokens: Tensor) -> Tensor:
        weight, bias = self.parameters()
        flat = tokens.reshape(-1, tokens.shape[-1]).to(weight.dtype)
        steady = is_steady(tuple(weight.shape), weight.dtype, weight.device, torch.get_num_threads())
        size = STEP if steady else _PORTION.get(weight.device.type, _PORTION_ELSEWHERE)
        missing = -len(flat) % size
        filled = functional.pad(flat, (0, 0, 0, missing)) if missing else flat
        if steady or len(filled) == size:
            found = functional.linear(filled, weight, bias)
        else:
            found = torch.cat([functional.linear(portion, weight, bias) for portion in torch.split(filled, size)])
        return found[: len(flat)].reshape(*tokens.shape[:-1], -1)


class Linears:
    """The linear layers of a model. ``complete`` says that every other layer with parameters treats each row alike anyway."""

    def __init__(self, model: nn.Module, dtype: torch.dtype | None) -> None:
        self._linears = [
            _Linear(module, dtype) for module in model.modules() if isinstance(module, nn.Linear) and _plain(module, nn.Linear)
        ]
        inside = {id(part) for linear in self._linears for part in linear.module.modules()}  # parametrizations are modules too
        held = {id(parameter) for linear in self._linears for parameter in linear.module.parameters()}  # some go by two names
        others = [
            module
            for module in model.modules()
            if id(module) not in inside and any(id(parameter) not in held for parameter in module.parameters(recurse=False))
        ]
        self.complete = all(_plain(module, *_ROW_BY_ROW) for module in others)

    @contextlib.contextmanager
    def in_portions(self) -> Iterator[None]:
        """Let the layers work in portions during the block; hooks on them are called as ever."""
        for linear in self._linears:
            vars(linear.module)["forward"] = linear
        try:
            yield
        finally:
            for linear in self._linears:
                del vars(linear.module)["forward"]

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_linears": [_Linear(linear.module, linear.dtype) for linear in self._linears]}


def _plain(module: nn.Module, *kinds: type[nn.Module]) -> bool:
    """Say whether a layer computes what one of ``kinds`` does, and nothing of its own."""
    return "forward" not in vars(module) and any(type(module).forward is kind.forward for kind in kinds)


@functools.cache
def is_steady(shape: tuple[int, int], dtype: torch.dtype, device: torch.device, threads: int) -> bool:
    """Say whether products of this shape give the same bits for every multiple of 16 rows, by trying some.

    ``threads`` only tells apart what was tried: the number of threads changes kernels too.
    """
    outputs, inputs = shape
    generator = torch.Generator().manual_seed(0)

    def drawn(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator).to(device, dtype)

    weight, bias, tokens = drawn(outputs, inputs), drawn(outputs), drawn(_TRIED[-1] + STEP, inputs)
    whole = functional.linear(tokens, weight, bias)
    return all(
        torch.equal(functional.linear(tokens[start : start + count], weight, bias), whole[start : start + count])
        for count in _TRIED
        for start in (0, STEP)
    )
