"""Component: settings with a name. Live: what one training makes of them.

Settings never change; whatever changes during a training lives in an object that the component makes for that training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer


@frozen
class Component:
    """A named bundle of settings: a frozen attrs class whose fields are made by :func:`ticketlab.options.setting`.

    ``version`` goes into the keys of cached results: raise it when the same settings start to give other results. ``variant`` names the
    setting, if any, that ``NAME:VALUE`` sets where a component is asked for.
    """

    kind: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    version: ClassVar[int] = 1
    variant: ClassVar[str] = ""

    @property
    def label(self) -> str:
        """What tells it from others of its kind: its name, or ``NAME:VALUE`` if it has variants."""
        value = getattr(self, self.variant) if self.variant else None
        return self.name if value is None else f"{self.name}:{value}"


class Live:
    """What the training loop calls, in this order, on everything that takes part in a training.

    Every method does nothing unless a subclass says otherwise.
    """

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return optimizer groups of this object's own parameters, each with its learning rate."""
        return []

    def meet(self, optimizer: Optimizer) -> None:
        """See the optimizer, once, before the first step of this try; a checkpoint is loaded by then."""

    def schedule_start(self, step: int) -> int:
        """Return the step, at most ``step``, from which the learning rates follow their schedule as if the training began there."""
        return 0

    def before_step(self, step: int) -> None:
        """Prepare one optimizer step."""

    def before_pass(self, index: int) -> None:
        """Prepare forward-backward pass number ``index`` of the step; an adversary makes several."""

    def after_backward(self) -> None:
        """Finish the gradients of the loss; penalties, clipping and the optimizer come next."""

    def penalty(self) -> Tensor | None:
        """Return a scalar to add to the loss once a step, whatever the number of passes: a function of what the optimizer moves."""
        return None

    def add_penalty(self) -> None:
        """Add to the gradients, in place, that of a penalty whose gradient is known without a graph; instead of :meth:`penalty`.

        Penalties come before clipping or after it, as the training says.
        """

    def after_step(self, step: int) -> bool:
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

    def close(self) -> None:
        """Leave the model as it was found, hooks and parametrizations removed."""
