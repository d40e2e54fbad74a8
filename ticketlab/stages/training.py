"""What the stages that train have in common: the settings of the optimizer, and the loop made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from ticketlab.adversaries.base import Adversary
from ticketlab.backbone.device import pick_device
from ticketlab.component import Live
from ticketlab.losses.base import Loss
from ticketlab.objectives.base import Begun, Given, ObjectiveSettings
from ticketlab.options import component, setting
from ticketlab.stages.base import Context, Stage
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.loop import Finished, Loop
from ticketlab.training.optimizer import adamw


@frozen
class Training(Stage):
    """Settings of every training. Learning rates rise linearly, then fall linearly to zero."""

    objective: ObjectiveSettings = component("objective", "task", help="what is learnt: the task, or the words of plain text")
    loss: Loss = component("loss", "cross-entropy", help="what is minimised on each example of the task")
    adversary: Adversary = component("adversary", "none", help="how the word embeddings are perturbed")
    epochs: float = setting(3.0, above=0, unit="epochs", help="passes over the training examples")
    batch_size: int = setting(32, at_least=1, unit="examples", help="examples per optimizer step")
    lr: float = setting(2e-5, above=0, help="peak learning rate of the weights")
    weight_decay: float = setting(0.01, at_least=0, help="AdamW's weight decay; none on biases and layer norms")
    warmup: float = setting(0.1, at_least=0, at_most=1, unit="fraction of the steps", help="part of the training in which the rates rise")
    clip: float = setting(1.0, above=0, help="bound on the norm of the gradient")
    checkpoint_seconds: float = setting(60.0, at_least=0, unit="seconds", identity=False, help="time between checkpoints")

    @property
    def uses_task(self) -> bool:
        """As the objective says."""
        return self.objective.uses_task

    def identity(self) -> dict[str, Any]:
        """Return the settings that count: the loss is the task's."""
        settings = super().identity()
        return settings if self.uses_task else {name: value for name, value in settings.items() if name != "loss"}

    def outside(self) -> dict[str, str]:
        """Return what the objective reads besides the task."""
        return {f"objective.{name}": place for name, place in self.objective.outside().items()}

    def begin(self, context: Context) -> Begun:
        """Load the model to start from, on the device that trains it, and the rows."""
        start = context.inputs["start"].model if "start" in context.inputs else context.model
        given = Given(start, context.data, self.loss, context.max_length, context.precision, context.seed)
        begun = self.objective.begin(given)
        begun.model.to(pick_device())
        return begun

    def fit(self, context: Context, begun: Begun, *, lives: Sequence[Live], evaluate: Callable[[int], dict[str, float]]) -> Finished:
        """Train, from the checkpoint in the stage's directory where there is one."""
        loop = Loop(
            objective=begun.live(lives),
            adversary=self.adversary,
            optimizer=adamw(begun.model, lives, self.lr, self.weight_decay),
            lives=lives,
            rows=begun.rows,
            batch_size=self.batch_size,
            epochs=self.epochs,
            warmup=self.warmup,
            clip=self.clip,
            seed=context.seed,
            checkpoint=Checkpoint(context.directory / "checkpoint.safetensors"),
            checkpoint_seconds=self.checkpoint_seconds,
            log=context.log,
            title=context.name,
            evaluate=evaluate,
        )
        return loop.run()
