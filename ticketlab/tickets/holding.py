"""Hold: a ticket's removed weights stay at zero through a training that is not ours, such as ``transformers.Trainer``."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.hooks import RemovableHandle

from ticketlab.backbone.masks import Removed, removed_parts
from ticketlab.tickets.ticket import Ticket

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def hold(model: PreTrainedModel, ticket: Ticket | str | Path) -> Hold:
    """Zero the weights of ``model`` that a ticket removes, in place, and keep them at exactly zero under any torch optimizer.

    The ticket's mask of a classifier is held on the classifier that it was found with, and on no new one.

    ``ticket`` is a :class:`Ticket` or the path of one. Gradients are masked as they are computed, so that clipping counts the
    ticket's weights alone; after each step of an optimizer that has weights of this model, the removed ones are zeroed again, whatever
    momentum or weight decay did. The model stays plain: it can be saved, moved to another device and wrapped; a deep copy is not held.
    It is held until :meth:`Hold.release`, or as long as it lives, whether the handle is kept or not. Other weights than the ticket's
    are a warning; a ticket of ``ticketlab ticket draw`` knows none, and goes on any. Two tickets held at a time leave what both keep.

    :raises UsageError: the model has another structure, or the path is no ticket.
    """
    loaded = ticket if isinstance(ticket, Ticket) else Ticket.load(ticket)
    backbone = loaded.backbone_of(model)
    return Hold(removed_parts(backbone, loaded.masks_on(backbone)))


class Hold:
    """What :func:`hold` put on a model; a context manager that takes it off again. The weights stay as they are then."""

    def __init__(self, parts: list[tuple[nn.Parameter, Removed]]) -> None:
        # References to the parameters are weak: the hook after steps is torch's and global, and would keep the model alive for ever.
        self._parts: dict[int, tuple[weakref.ref[nn.Parameter], Removed]] = {
            id(parameter): (weakref.ref(parameter, self._forget(id(parameter))), removed) for parameter, removed in parts
        }
        self._hooks = [_mask_gradients(parameter, removed) for parameter, removed in parts]
        self._after_steps = register_optimizer_step_post_hook(self._after_step)
        for parameter, removed in parts:
            removed.zero(parameter)

    def release(self) -> None:
        """Take everything off the model. A second call does nothing."""
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
                known = self._parts.get(id(parameter))
                own = known[0]() if known is not None else None
                if known is not None and own is not None and own is parameter:
                    known[1].zero(own)

    def _forget(self, identity: int) -> Any:
        whole = weakref.ref(self)

        def gone(_: Any) -> None:
            held = whole()
            if held is not None:
                held._parts.pop(identity, None)
                if not held._parts:
                    held.release()

        return gone


def _mask_gradients(parameter: nn.Parameter, removed: Removed) -> RemovableHandle:
    """Mask every gradient that arrives at a parameter, also if it is frozen now and trained later."""

    def mask(gradient: Tensor) -> Tensor:
        return gradient * removed.on(gradient.device)

    trains = parameter.requires_grad
    parameter.requires_grad_()  # a frozen parameter takes no hook
    hook: RemovableHandle = parameter.register_hook(mask)  # type: ignore[no-untyped-call]
    parameter.requires_grad_(trains)
    return hook
