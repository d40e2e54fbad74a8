"""Callback: an object that the training loop calls at fixed points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ticketlab.core.method_names import check_method_names

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

OTHER_NAMES = {
    **dict.fromkeys(("before_step", "step_start", "on_step_begin", "on_batch_start", "on_train_batch_start"), "on_step_start"),
    **dict.fromkeys(("after_step", "step_end", "on_batch_end", "on_train_batch_end"), "on_step_end"),
    **dict.fromkeys(("before_pass", "pass_start", "before_forward"), "on_pass_start"),
    **dict.fromkeys(("after_backward", "on_backward_end"), "on_after_backward"),
    **dict.fromkeys(("before_train", "train_start", "on_train_begin", "on_fit_start"), "on_train_start"),
    "configure_optimizers": "parameter_groups",
}
"""Names that other libraries give to the methods of a callback."""


class Callback:
    """Base class of callbacks. The training loop calls the methods in this order; by default they do nothing.

    A subclass with a misspelt method is refused (TypeError): a public method that overrides nothing must not have a name that is similar
    to that of one that is called, nor one that begins with ``on_``.
    """

    of_kind: ClassVar[str] = ""
    """The kind of component whose run this is, for messages about errors; empty for other callbacks."""

    observes: ClassVar[bool] = False
    """Whether it only watches a training, and changes neither gradients nor parameters. In a training by several processes it is then
    called in the first one alone, which writes all files; the training ends when it says so."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_method_names(cls, OTHER_NAMES, reserved="on_")

    def nested(self) -> Sequence[Callback]:
        """Return the callbacks that this one uses, such as the run of a component in its settings.

        The loop calls them too, right after this one, and saves their state.
        """
        return ()

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return optimizer groups of the callback's own parameters, each with its learning rate."""
        return []

    def on_train_start(self, optimizer: Optimizer) -> None:
        """Called once, before the first step of a new or resumed training session. A checkpoint has been loaded by then."""

    def schedule_start(self, step: int) -> int:
        """Return the latest step, at most ``step``, at which the learning rate schedule restarts."""
        return 0

    def on_step_start(self, step: int) -> None:
        """Called before an optimizer step."""

    def on_pass_start(self, index: int) -> None:
        """Called before forward-backward pass number ``index`` of the step. Adversaries make several passes.

        If a batch is computed in several parts one after the other (``accumulate``), the passes of each part are numbered from 0: random
        numbers must be the same in passes of the same number.
        """

    def on_after_backward(self) -> None:
        """Called when the gradients of the loss are complete, before penalties, clipping and the optimizer.

        They are those of the whole batch, however many processes or micro-batches it was divided among.
        """

    def penalty(self) -> Tensor | None:
        """Return a scalar, a function of the trained parameters, to add to the loss once per step, however many passes the step makes."""
        return None

    def add_penalty(self) -> None:
        """Add a penalty's gradient to the gradients in place. Use it instead of :meth:`penalty` if the gradient has a closed form.

        The training stage decides whether penalties are added before or after clipping.
        """

    def on_step_end(self, step: int) -> bool:
        """Called after an optimizer step. Return True to end the training here."""
        return False

    def state_dict(self) -> dict[str, Tensor]:
        """Return every tensor that the next step depends on."""
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` returned."""

    def metrics(self) -> dict[str, float]:
        """Return numbers to log along with the loss."""
        return {}


def with_nested(callbacks: Iterable[Callback]) -> Iterator[Callback]:
    """Yield each callback, followed by those that it uses."""
    for callback in callbacks:
        yield callback
        yield from with_nested(callback.nested())
