"""What the stages that train have in common: the settings of the optimizer, and the loop made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from ticketlab.adversaries.base import Adversary
from ticketlab.component import Live
from ticketlab.losses.base import Loss
from ticketlab.options import component, setting
from ticketlab.stages.base import Context, Stage
from ticketlab.training.batch import Rows, tokenize
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.loop import Finished, Loop
from ticketlab.training.objective import TaskObjective
from ticketlab.training.optimizer import adamw


@frozen
class Training(Stage):
    """Settings of every training. Learning rates rise linearly, then fall linearly to zero."""

    loss: Loss = component("loss", "cross-entropy", help="what is minimised on each example")
    adversary: Adversary = component("adversary", "none", help="how the word embeddings are perturbed")
    epochs: float = setting(3.0, above=0, unit="epochs", help="passes over the training examples")
    batch_size: int = setting(32, at_least=1, unit="examples", help="examples per optimizer step")
    lr: float = setting(2e-5, above=0, help="peak learning rate of the weights")
    weight_decay: float = setting(0.01, at_least=0, help="AdamW's weight decay; none on biases and layer norms")
    warmup: float = setting(0.1, at_least=0, at_most=1, unit="fraction of the steps", help="part of the training in which the rates rise")
    clip: float = setting(1.0, above=0, help="bound on the norm of the gradient")
    checkpoint_seconds: float = setting(60.0, at_least=0, unit="seconds", identity=False, help="time between checkpoints")

    def encode(self, context: Context, tokenizer: Any, split: str) -> Rows:
        """Tokenise a split."""
        return tokenize(context.data.examples(split), tokenizer, context.max_length)

    def fit(
        self,
        context: Context,
        model: Any,
        rows: Rows,
        *,
        lives: Sequence[Live],
        lr: float,
        evaluate: Callable[[int], dict[str, float]],
    ) -> Finished:
        """Train, from the checkpoint in the stage's directory where there is one."""
        objective = TaskObjective(model, self.loss, precision=context.precision, lives=lives)
        loop = Loop(
            objective=objective,
            adversary=self.adversary,
            optimizer=adamw(model, lives, lr, self.weight_decay),
            lives=lives,
            rows=rows,
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
