"""An adversary around another: it perturbs only every few steps, as the inner adversary does, and trains plainly in between."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen
from torch import Tensor

from ticketlab.plugin import (
    Adversary,
    AdversaryRun,
    Batch,
    Callback,
    LossFunction,
    TrainingPlan,
    component,
    hookimpl,
    plain_step,
    setting,
)


@frozen
class Every(Adversary):
    """Uses another adversary in every ``interval``-th step, so that training costs little more than plain training."""

    name: ClassVar[str] = "every"
    summary: ClassVar[str] = "use another adversary every few steps"

    inner: Adversary = component("adversary", "freelb", help="the adversary of these steps")
    interval: int = setting(2, at_least=1, unit="steps", help="steps from one to the next")

    @property
    def learns_at_rate(self) -> bool:
        """Whether the inner adversary trains parameters at the stage's rate."""
        return self.inner.learns_at_rate

    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        """Begin with the inner adversary."""
        return EveryRun(self, self.inner.begin(plan))


class EveryRun(AdversaryRun):
    """One training with both."""

    def __init__(self, settings: Every, inner: AdversaryRun) -> None:
        super().__init__(settings)
        self._every = settings
        self._inner = inner

    def nested(self) -> list[Callback]:
        """Return the inner run, whose state is saved too."""
        return [self._inner]

    def step(self, loss_function: LossFunction, batch: Batch, step: int) -> Tensor:
        """Take a step of the inner adversary, or a plain one."""
        if step < self._every.start_step or step % self._every.interval:
            return plain_step(loss_function, batch)
        return self._inner.step(loss_function, batch, step)


@hookimpl
def ticketlab_adversaries() -> list[type[Adversary]]:
    """Return the adversary."""
    return [Every]
