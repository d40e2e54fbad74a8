"""The training loop: one for fine-tuning, searching and retraining. It knows steps, and nothing of pruners, adversaries or losses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core import progress
from ticketlab.core.callback import Callback
from ticketlab.core.errors import TrainingDiverged
from ticketlab.training import interruption
from ticketlab.training.batch import Batch, TokenizedRows
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.loss_function import LossFunction, TrainingLoss

Log = Callable[[dict[str, Any]], None]


@frozen
class Schedule:
    """Linear warm-up, then linear decay to zero, in steps; valid for any number of steps, fewer than the warm-up included."""

    total: int
    warmup: int

    def factor(self, step: int) -> float:
        """Return what the learning rates are multiplied by at ``step``, counted from 0."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        return max(0.0, (self.total - step) / max(1, self.total - self.warmup))


class LossStep(Protocol):
    """What the loop needs of an adversary: the gradients of one optimizer step."""

    def step(self, loss_function: LossFunction, batch: Batch, step: int) -> Tensor:
        """Accumulate the gradients of optimizer step ``step``, counted from 0; return the loss, a detached scalar."""


@frozen
class Loop:
    """What a training is made of. ``callbacks`` are called in order; ``evaluate`` returns development scores."""

    loss_function: TrainingLoss
    adversary: LossStep
    optimizer: torch.optim.Optimizer
    callbacks: Sequence[Callback]
    rows: TokenizedRows
    batch_size: int
    epochs: float
    warmup: float
    clip: float
    seed: int
    checkpoint: Checkpoint
    checkpoint_seconds: float
    log: Log
    title: str
    evaluate: Callable[[int], dict[str, float]] | None = None
    evaluate_steps: int | None = None
    """Steps between evaluations; None evaluates at the end of each epoch. The last step is followed by one in any case."""
    clip_penalty: bool = True
    """Whether the gradients of penalties are clipped together with that of the loss, or added after it was clipped."""

    @property
    def steps_per_epoch(self) -> int:
        """Optimizer steps in one pass over the rows."""
        return math.ceil(len(self.rows) / self.batch_size)

    @property
    def steps(self) -> int:
        """Optimizer steps in all."""
        return max(1, round(self.steps_per_epoch * self.epochs))

    def run(self) -> TrainingResult:
        """Train from the checkpoint, or from the start, to the end.

        :raises TrainingDiverged: a loss or gradient is not finite; the last checkpoint stays.
        :raises Interrupted: Ctrl-C, SIGTERM or SIGHUP; a checkpoint was written.
        """
        schedule = Schedule(self.steps, round(self.warmup * self.steps))
        rates = [group["lr"] for group in self.optimizer.param_groups]
        fresh: dict[str, Any] = {"step": 0, "loss": 0.0, "seconds": 0.0, "elapsed": 0.0, "history": []}
        state = self.checkpoint.load(self.optimizer, self.callbacks) or fresh
        for callback in self.callbacks:
            callback.on_train_start(self.optimizer)
        if state["step"]:
            progress.say(f"{self.title}: going on after step {state['step']} of {self.steps}")
        history: list[dict[str, float]] = list(state["history"])
        recent: float = state["loss"]
        seconds: float = state["seconds"]
        started = time.perf_counter() - state["elapsed"]
        saved = time.monotonic()
        self.loss_function.model.train()
        device = next(self.loss_function.model.parameters()).device
        batches: list[list[int]] = []
        with progress.bar(self.title, self.steps, done=state["step"]) as bar, interruption.delayed() as interrupted:
            for step in range(state["step"], self.steps):
                epoch, index = divmod(step, self.steps_per_epoch)
                if not batches or index == 0:
                    batches = self.rows.epoch(self.batch_size, self.seed, epoch)
                since = max((callback.schedule_start(step) for callback in self.callbacks), default=0)
                for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
                    group["lr"] = rate * schedule.factor(step - since)
                batch = self.loss_function.prepare(self.rows.collate(batches[index]), step, self.steps).to(device)
                began = _now(device)
                loss = self._step(step, batch)
                seconds += _now(device) - began
                verdicts = [callback.on_step_end(step) for callback in self.callbacks]
                recent = loss if step == 0 else 0.95 * recent + 0.05 * loss
                bar.advance(1, f"loss {recent:.4f}")
                done = any(verdicts)
                if self._is_due(step) or done:
                    self._check_finite(step)
                    history.append(self._look(step, recent))
                progress_so_far = {"step": step + 1, "loss": recent, "history": history, "seconds": seconds}
                if done:
                    break
                late = time.monotonic() - saved > self.checkpoint_seconds
                if (late or interrupted()) and step + 1 < self.steps:
                    self._save(step, {**progress_so_far, "elapsed": time.perf_counter() - started})
                    saved = time.monotonic()
                if interrupted():
                    raise interruption.error(interrupted(), f"stopped after step {step + 1} of {self.steps} of {self.title}")
        steps = step + 1 if self.steps > state["step"] else state["step"]
        trained = sum(parameter.numel() for group in self.optimizer.param_groups for parameter in group["params"])
        return TrainingResult(steps, recent, history, seconds, state["elapsed"], trained)

    def _step(self, step: int, batch: Batch) -> float:
        for callback in self.callbacks:
            callback.on_step_start(step)
        loss = self.adversary.step(self.loss_function, batch, step)
        for callback in self.callbacks:
            callback.on_after_backward()
        if self.clip_penalty:
            self._add_penalties()
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.clip)
        if not self.clip_penalty:
            self._add_penalties()
        if not (math.isfinite(float(loss)) and math.isfinite(float(norm))):
            raise TrainingDiverged(
                f"{self.title}: the loss is {float(loss)} and the gradient {float(norm)} at step {step + 1}; {self._kept()}. "
                "Try a lower learning rate, or a later `adversary.start_step`"
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(loss)

    def _add_penalties(self) -> None:
        for callback in self.callbacks:
            penalty = callback.penalty()
            if penalty is not None:
                torch.autograd.backward(penalty)
            callback.add_penalty()

    def _is_due(self, step: int) -> bool:
        """Say whether the model is evaluated after ``step``."""
        return (step + 1) % (self.evaluate_steps or self.steps_per_epoch) == 0 or step == self.steps - 1

    def _look(self, step: int, loss: float) -> dict[str, float]:
        record: dict[str, float] = {"step": step + 1, "loss": loss}
        for callback in self.callbacks:
            record |= callback.metrics()
        if self.evaluate is not None:
            record |= self.evaluate(step + 1)
            self.loss_function.model.train()
        self.log({"event": "epoch" if self.evaluate_steps is None else "evaluation", "stage": self.title, **record})
        return record

    def _save(self, step: int, state: dict[str, Any]) -> None:
        """Write a checkpoint, unless the step just taken left something that is not a number."""
        self._check_finite(step)
        self.checkpoint.save(self.optimizer, self.callbacks, state)

    def _check_finite(self, step: int) -> None:
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                if not bool(torch.isfinite(parameter).all()):
                    raise TrainingDiverged(
                        f"{self.title}: a parameter is not finite after step {step + 1}; {self._kept()}. Try a lower learning rate"
                    )

    def _kept(self) -> str:
        return f"the state before is in {self.checkpoint.path}" if self.checkpoint.path.exists() else "no checkpoint was due before"


def _now(device: torch.device) -> float:
    """Return the time in seconds, once a GPU has done all that it was asked to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


@frozen
class TrainingResult:
    """What a training ended with: steps taken, the smoothed loss, one record an epoch, and what it cost.

    ``seconds`` is the time of the optimizer steps alone (forward, backward, update), earlier tries included: without reading and padding
    text, stop rules, evaluation and checkpoints. ``earlier_seconds`` is all that earlier tries spent in the loop. ``parameters`` counts
    the numbers that the optimizer moves.
    """

    steps: int
    loss: float
    history: list[dict[str, float]]
    seconds: float
    earlier_seconds: float
    parameters: int
