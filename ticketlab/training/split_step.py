"""One optimizer step in parts: the gradients of a batch as the sum of those of its parts, over micro-batches and processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.backbone.masks import MaskedWeight
from ticketlab.core.callback import Callback
from ticketlab.inference.random_state import derive_seed
from ticketlab.training.batch import Batch
from ticketlab.training.batch_part import computing, parts_of
from ticketlab.training.loss_function import LossFunction
from ticketlab.training.parallel import Group


class LossStep(Protocol):
    """The part of an adversary that the loop calls: it computes the gradients of one optimizer step."""

    def step(self, loss_function: LossFunction, batch: Batch, step: int) -> Tensor:
        """Accumulate the gradients of optimizer step ``step``, counted from 0; return the loss, a detached scalar."""


@frozen(eq=False)
class SplitStep:
    """Computes the gradients of a step in ``accumulate`` micro-batches in each process of ``group``, or in this process alone.

    The parts draw the random numbers of an adversary for the whole batch, so they are those of one process. Dropout masks depend on
    ``seed``, the step and the part, so no process has a state of its own. ``runs`` are the callbacks whose state a pass may change.
    """

    group: Group | None
    accumulate: int
    seed: int
    runs: Sequence[Callback]

    @property
    def parts(self) -> int:
        """The number of parts of a batch."""
        return self.accumulate * (1 if self.group is None else self.group.number)

    def gradients(
        self, adversary: LossStep, loss_function: LossFunction, batch: Batch, step: int, leaves: Callable[[], Sequence[Tensor]]
    ) -> Tensor:
        """Accumulate the gradients of a step in ``leaves``, which have none before, and return the loss, a detached scalar.

        ``leaves`` returns every tensor in which a pass may collect a gradient. It is called again for each part, because a search may
        exchange tensors between passes.
        """
        rank = 0 if self.group is None else self.group.rank
        own = parts_of(len(batch), self.parts)[rank * self.accumulate : (rank + 1) * self.accumulate]
        own = [part for part in own if part.share > 0] or own[:1]
        states = [{name: value.clone() for name, value in run.state_dict().items()} for run in self.runs] if len(own) > 1 else []
        loss = torch.zeros((), device=batch.labels.device)
        scale = 1.0
        for part in own:
            if part is not own[0]:
                for run, state in zip(self.runs, states, strict=True):  # a step starts from the same state in each part
                    run.load_state_dict({name: value.clone() for name, value in state.items()})
                _scale(leaves(), scale / part.share)
            scale = part.share
            with computing(part, derive_seed(self.seed, "dropout", step, part.index)):
                loss += part.share * adversary.step(loss_function, part.of(batch), step)
        _scale(leaves(), scale)
        return loss if self.group is None else self._summed(self.group, loss, leaves())

    def _summed(self, group: Group, loss: Tensor, leaves: Sequence[Tensor]) -> Tensor:
        """Replace the gradients in ``leaves`` by their sums over all processes, in one exchange; return the sum of the losses.

        A tensor without a gradient in any process gets none.
        """
        gradients = [leaf.grad for leaf in leaves]
        found = torch.tensor([float(gradient is not None) for gradient in gradients], device=loss.device)
        flat = [torch.zeros_like(leaf).flatten() if leaf.grad is None else leaf.grad.flatten() for leaf in leaves]
        total = group.sum(torch.cat([loss.reshape(1), found, *flat]))
        sizes = [1, len(leaves), *(leaf.numel() for leaf in leaves)]
        sum_of_losses, counts, *sums = torch.split(total, sizes)
        for leaf, count, gradient in zip(leaves, counts.tolist(), sums, strict=True):
            leaf.grad = gradient.view_as(leaf).to(leaf.dtype) if count else None
        return sum_of_losses.squeeze(0)


def gradient_leaves(model: nn.Module, parameters: Sequence[Tensor]) -> list[Tensor]:
    """Return every tensor in which a pass may collect a gradient: what is trained, and the weights that masks put in place of others."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    masked = [module.effective for module in model.modules() if isinstance(module, MaskedWeight) and module.effective is not None]
    return list({id(tensor): tensor for tensor in (*trained, *parameters, *masked)}.values())


@torch.no_grad()
def _scale(leaves: Sequence[Tensor], factor: float) -> None:
    if factor != 1:
        for leaf in leaves:
            if leaf.grad is not None:
                leaf.grad.mul_(factor)
