"""Callback: what takes part in a training, called by the training loop at fixed points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer


class Callback:
    """What the training loop calls, in this order, on everything that takes part in a training.

    Every method does nothing unless a subclass says otherwise.
    """

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return optimizer groups of this object's own parameters, each with its learning rate."""
        return []

    def on_train_start(self, optimizer: Optimizer) -> None:
        """See the optimizer, once, before the first step of this try; a checkpoint is loaded by then."""

    def schedule_start(self, step: int) -> int:
        """Return the step, at most ``step``, from which the learning rates follow their schedule as if the training began there."""
        return 0

    def on_step_start(self, step: int) -> None:
        """Prepare one optimizer step."""

    def on_pass_start(self, index: int) -> None:
        """Prepare forward-backward pass number ``index`` of the step; an adversary makes several."""

    def on_after_backward(self) -> None:
        """Finish the gradients of the loss; penalties, clipping and the optimizer come next."""

    def penalty(self) -> Tensor | None:
        """Return a scalar to add to the loss once a step, whatever the number of passes: a function of what the optimizer moves."""
        return None

    def add_penalty(self) -> None:
        """Add to the gradients, in place, that of a penalty whose gradient is known without a graph; instead of :meth:`penalty`.

        Penalties come before clipping or after it, as the training says.
        """

    def on_step_end(self, step: int) -> bool:
        """Follow the optimizer's step; return True to end the training here."""
        return False

    def state_dict(self) -> dict[str, Tensor]:
        """Return every tensor that the next step depends on."""
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take back what :meth:`state_dict` returned."""

    def metrics(self) -> dict[str, float]:
        """Return numbers worth logging beside the loss."""
        return {}
