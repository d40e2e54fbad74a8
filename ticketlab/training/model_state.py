"""Whether components leave a model as it was: its parameters, buffers and hooks, compared by sums of bits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.backbone.hooks import count_hooks
from ticketlab.core.errors import PluginError
from ticketlab.training.component import TrainingComponent


@frozen(eq=False)
class ModelState:
    """A model at one time: its parameters and buffers by name, sums of their bits, whether they are trained, and the hooks.

    The sum of a tensor changes with any element of it, and costs as much as reading the tensor once (0.05 s for BERT-base).
    """

    tensors: dict[str, Tensor]
    sums: tuple[int, ...]
    trained: tuple[bool, ...]
    hooks: int

    @classmethod
    def of(cls, model: Any) -> ModelState:
        """Return the present state of a model."""
        tensors = _tensors(model)
        trained = tuple(tensor.requires_grad for tensor in tensors.values())
        return cls(tensors, tuple(map(sum_of_bits, tensors.values())), trained, count_hooks(model))

    def check(self, component: TrainingComponent, model: Any, *, adds: bool = False) -> None:
        """Check that ``begin`` of a component has left ``model`` as it was; ``adds`` allows additional parameters, as of gates.

        :raises PluginError: it changed or unfroze weights, or added parameters.
        """
        who = f"the {component.kind} `{component.name}`"
        if self._changed():
            raise PluginError(f"{who} changed the weights of the model in begin; only a pruner with `trains_weights` may")
        if any(tensor.requires_grad != known for tensor, known in zip(self.tensors.values(), self.trained, strict=True)):
            raise PluginError(f"{who} changed in begin which weights are trained; a pruner declares `trains_weights`")
        known = {id(tensor) for tensor in self.tensors.values()}
        added = [] if adds else [name for name, tensor in _tensors(model).items() if id(tensor) not in known]
        if added:
            raise PluginError(f"{who} added `{added[0]}` to the model, where a search would freeze it; return it from parameter_groups")

    def check_closed(self, pruner: TrainingComponent, model: Any, *, trains_weights: bool) -> None:
        """Check that a search has left ``model`` as it found it, apart from weights that it trains.

        :raises PluginError: parameters or hooks are left, or weights have other bits.
        """
        who = f"the pruner `{pruner.name}`"
        now = _tensors(model)
        if now.keys() != self.tensors.keys() or count_hooks(model) != self.hooks:
            differing = sorted(now.keys() ^ self.tensors.keys())
            left = f"`{differing[0]}`" if differing else "a hook"
            raise PluginError(f"{who} left {left} on the model; `close` of its search removes all that it added")
        if not trains_weights and self._changed():
            raise PluginError(f"{who} changed the weights of the model, and does not declare `trains_weights`")

    def _changed(self) -> bool:
        return any(sum_of_bits(tensor) != known for tensor, known in zip(self.tensors.values(), self.sums, strict=True))


@contextlib.contextmanager
def unchanged(title: str, parameters: Sequence[Tensor]) -> Iterator[None]:
    """Check that parameters have the same bits after the block, in which the gradients of a step are computed, as before it.

    :raises PluginError: one has others.
    """
    before = list(map(sum_of_bits, parameters))
    yield
    if list(map(sum_of_bits, parameters)) != before:
        raise PluginError(
            f"{title}: weights changed while the gradients of a step were computed; an adversary, a loss and an objective compute "
            "gradients, and restore weights that they change for a pass: the optimizer alone updates them"
        )


def sum_of_bits(tensor: Tensor) -> int:
    """Return the sum of the bytes of a tensor, taken as integers of eight bytes, modulo 2^64, and the remaining bytes."""
    content = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    whole = len(content) // 8 * 8
    words = content[:whole]
    words = words.clone() if words.storage_offset() % 8 else words
    return int(words.view(torch.int64).sum()) + int(content[whole:].sum())


def _tensors(model: Any) -> dict[str, Tensor]:
    return dict([*model.named_parameters(), *model.named_buffers()])
