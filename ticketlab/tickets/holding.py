"""Hold a ticket on a model: keep its removed weights at zero in any training loop, such as ``transformers.Trainer``.

ticketlab's own loop uses :class:`ticketlab.backbone.masks.HoldMaskCallback` instead.
"""

from __future__ import annotations

import weakref
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.hooks import RemovableHandle

from ticketlab.backbone.masks import RemovedWeights, removed_weights
from ticketlab.tickets.ticket import Ticket

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def hold(model: PreTrainedModel, ticket: Ticket | str | Path) -> Hold:
    """Zero the weights of ``model`` that a ticket removes, in place, and keep them at exactly zero under any torch optimizer.

    ``ticket`` is a :class:`Ticket` or the path of one. Gradients are masked as they are computed, so gradient clipping sees only the
    ticket's weights. After each step of an optimizer that has weights of this model, the removed ones are zeroed again, because momentum
    and weight decay may move them.

    The model gets no new modules or parameters: it can be saved, moved to another device and wrapped. A deep copy is not held. The hold
    lasts until :meth:`Hold.release` or as long as the model exists, whether or not the handle is kept. If two tickets are held, a weight
    is kept only if both keep it.

    A warning is issued if the model has other weights than the ticket was made for. A ticket of ``ticketlab ticket draw`` does not record
    them and fits any. The masks of a classifier apply only to the classifier that the ticket was found with, not to a new one.

    :raises UsageError: the model has another structure, or the path is not a ticket.
    """
    loaded = ticket if isinstance(ticket, Ticket) else Ticket.load(ticket)
    backbone = loaded.backbone_of(model)
    return Hold(removed_weights(backbone, loaded.masks_on(backbone)))


class Hold:
    """The handle of :func:`hold`, also a context manager. Releasing it leaves the weights as they are."""

    def __init__(self, parts: list[tuple[nn.Parameter, RemovedWeights]]) -> None:
        # References to the parameters are weak: torch's hook after optimizer steps is global and would keep the model alive forever.
        self._parts: dict[int, tuple[weakref.ref[nn.Parameter], RemovedWeights]] = {
            id(parameter): (weakref.ref(parameter, self._forget(id(parameter))), removed) for parameter, removed in parts
        }
        self._hooks = [_mask_gradients(parameter, removed) for parameter, removed in parts]
        self._after_steps = register_optimizer_step_post_hook(self._after_step)
        for parameter, removed in parts:
            removed.zero(parameter)

    def release(self) -> None:
        """Remove all hooks from the model. A second call does nothing."""
        for hook in (*self._hooks, self._after_steps):
            hook.remove()
        self._hooks.clear()
        self._parts.clear()

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None) -> None:
        self.release()

    def _after_step(self, optimizer: Optimizer, *_: Any) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                reference, removed = self._parts.get(id(parameter), (None, None))
                held = reference() if reference is not None else None
                if removed is not None and held is not None and held is parameter:  # ids of deleted parameters are reused
                    removed.zero(held)

    def _forget(self, identity: int) -> Any:
        """Return a callback that forgets a parameter when it is deleted, and releases the hold with the last one."""
        self_reference = weakref.ref(self)

        def on_deletion(_: Any) -> None:
            hold = self_reference()
            if hold is not None:
                hold._parts.pop(identity, None)
                if not hold._parts:
                    hold.release()

        return on_deletion


def _mask_gradients(parameter: nn.Parameter, removed: RemovedWeights) -> RemovableHandle:
    """Mask every gradient of a parameter, also if it is frozen now and trained later."""

    def mask(gradient: Tensor) -> Tensor:
        return gradient * removed.on(gradient.device)

    requires_grad = parameter.requires_grad
    parameter.requires_grad_()  # a frozen parameter takes no hook
    hook: RemovableHandle = parameter.register_hook(mask)  # type: ignore[no-untyped-call]
    parameter.requires_grad_(requires_grad)
    return hook
