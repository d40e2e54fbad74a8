"""The training loop that fine-tuning, searching and retraining share. It is independent of pruners, adversaries and losses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core import progress
from ticketlab.core.callback import Callback
from ticketlab.core.errors import PluginError, TrainingDiverged
from ticketlab.training import interruption
from ticketlab.training.batch import Batch, TokenizedRows
from ticketlab.training.begin import unchanged
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.loss_function import TrainingLoss
from ticketlab.training.scoring import LossStep

Log = Callable[[dict[str, Any]], None]
OWN_METRICS = ("step", "loss")
"""The numbers of the loop itself in each record of the history."""


def steps_per_epoch(rows: int, batch_size: int) -> int:
    """Return the number of optimizer steps in one pass over the rows."""
    return math.ceil(rows / batch_size)


def total_steps(rows: int, batch_size: int, epochs: float) -> int:
    """Return the number of optimizer steps of a training run: rounded to the nearest step, and at least one."""
    return max(1, round(steps_per_epoch(rows, batch_size) * epochs))


@frozen
class Schedule:
    """Linear warm-up, then linear decay to zero, in steps. ``total`` may be smaller than ``warmup``."""

    total: int
    warmup: int

    def factor(self, step: int) -> float:
        """Return the factor of the learning rates at ``step``, counted from 0."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        return max(0.0, (self.total - step) / max(1, self.total - self.warmup))


@frozen
class Loop:
    """A training run and everything it uses. ``callbacks`` are called in order; ``evaluate`` returns development scores.

    ``epochs`` may be fractional; ``warmup`` is a fraction of the steps; ``clip`` bounds the norm of the gradient.
    """

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
    """Steps between evaluations. None evaluates at the end of each epoch. The last step is always followed by an evaluation."""
    clip_penalty: bool = True
    """Whether the gradients of penalties are clipped together with that of the loss, or added after clipping."""

    @property
    def steps_per_epoch(self) -> int:
        """Optimizer steps in one pass over the rows."""
        return steps_per_epoch(len(self.rows), self.batch_size)

    @property
    def steps(self) -> int:
        """Optimizer steps of the whole run."""
        return total_steps(len(self.rows), self.batch_size, self.epochs)

    def run(self) -> TrainingResult:
        """Train to the end, resuming from the checkpoint if there is one.

        :raises TrainingDiverged: a loss, gradient or parameter is not finite; the last checkpoint is kept.
        :raises Interrupted: on Ctrl-C, SIGTERM or SIGHUP, after a checkpoint was written.
        """
        schedule = Schedule(self.steps, round(self.warmup * self.steps))
        rates = [group["lr"] for group in self.optimizer.param_groups]
        fresh: dict[str, Any] = {"step": 0, "loss": 0.0, "seconds": 0.0, "elapsed": 0.0, "history": []}
        state = self.checkpoint.load(self.optimizer, self.callbacks) or fresh
        for callback in self.callbacks:
            callback.on_train_start(self.optimizer)
        if state["step"]:
            progress.say(f"{self.title}: resuming after step {state['step']} of {self.steps}")
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
                before = _synchronized_time(device)
                done = step - state["step"]
                loss = self._step(step, batch, first=done == 0, checked=done < 2 or index == 0 or step == self.steps - 1)
                seconds += _synchronized_time(device) - before
                stops = [callback.on_step_end(step) for callback in self.callbacks]  # every callback is called
                recent = loss if step == 0 else 0.95 * recent + 0.05 * loss
                bar.advance(1, f"loss {recent:.4f}")
                ended = any(stops)
                if self._evaluation_is_due(step) or ended:
                    self._check_finite(step)
                    history.append(self._evaluate(step, recent))
                if ended:
                    break
                checkpoint_is_due = time.monotonic() - saved > self.checkpoint_seconds
                if (checkpoint_is_due or interrupted()) and step + 1 < self.steps:
                    elapsed = time.perf_counter() - started
                    self._save(step, {"step": step + 1, "loss": recent, "history": history, "seconds": seconds, "elapsed": elapsed})
                    saved = time.monotonic()
                if interrupted():
                    raise interruption.error(interrupted(), f"stopped after step {step + 1} of {self.steps} of {self.title}")
        steps = step + 1 if self.steps > state["step"] else state["step"]
        trained = sum(parameter.numel() for group in self.optimizer.param_groups for parameter in group["params"])
        return TrainingResult(steps, recent, history, seconds, state["elapsed"], trained)

    def _step(self, step: int, batch: Batch, *, first: bool = False, checked: bool = False) -> float:
        for callback in self.callbacks:
            callback.on_step_start(step)
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        with unchanged(self.title, [*self.loss_function.model.parameters(), *parameters] if checked else ()):
            loss = self.adversary.step(self.loss_function, batch, step)
        for callback in self.callbacks:
            callback.on_after_backward()
        if first:
            check_step(self.title, loss, parameters)
        if self.clip_penalty:
            self._add_penalties()
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.clip)
        if not self.clip_penalty:
            self._add_penalties()
        if not (math.isfinite(float(loss)) and math.isfinite(float(norm))):
            raise TrainingDiverged(
                f"{self.title}: the loss is {float(loss)} and the gradient norm {float(norm)} at step {step + 1}; "
                f"{self._last_checkpoint()}. "
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

    def _evaluation_is_due(self, step: int) -> bool:
        """Return whether the model is evaluated after ``step``."""
        return (step + 1) % (self.evaluate_steps or self.steps_per_epoch) == 0 or step == self.steps - 1

    def _evaluate(self, step: int, loss: float) -> dict[str, float]:
        """Log the loss, the callbacks' metrics and the development scores after ``step``, and return them."""
        record: dict[str, float] = {"step": step + 1, "loss": loss}
        for callback in self.callbacks:
            record |= checked_metrics(callback)
        if self.evaluate is not None:
            record |= self.evaluate(step + 1)
            self.loss_function.model.train()
        self.log({"event": "epoch" if self.evaluate_steps is None else "evaluation", "stage": self.title, **record})
        return record

    def _save(self, step: int, state: dict[str, Any]) -> None:
        """Write a checkpoint, unless a parameter is not finite after ``step``."""
        self._check_finite(step)
        self.checkpoint.save(self.optimizer, self.callbacks, state)

    def _check_finite(self, step: int) -> None:
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                if not bool(torch.isfinite(parameter).all()):
                    raise TrainingDiverged(
                        f"{self.title}: a parameter is not finite after step {step + 1}; {self._last_checkpoint()}. "
                        "Try a lower learning rate"
                    )

    def _last_checkpoint(self) -> str:
        if self.checkpoint.path.exists():
            return f"the last checkpoint is {self.checkpoint.path}"
        return "no checkpoint had been written yet"


def check_step(title: str, loss: object, parameters: Sequence[Tensor]) -> None:
    """Check what an adversary did in its first step.

    :raises PluginError: it returned no scalar, or no parameter of the optimizer has a gradient. A training that trains nothing is fine.
    """
    if not (isinstance(loss, Tensor) and loss.numel() == 1 and not loss.requires_grad):
        found = f"a tensor {tuple(loss.shape)}{' with its graph' * loss.requires_grad}" if isinstance(loss, Tensor) else type(loss).__name__
        raise PluginError(f"{title}: the adversary returned {found}, not the loss as a detached scalar")
    if parameters and all(parameter.grad is None for parameter in parameters):
        raise PluginError(f"{title}: the first step computed no gradients; `backward` of an adversary calls torch.autograd.backward(loss)")


def checked_metrics(callback: Callback) -> dict[str, float]:
    """Return the metrics of a callback.

    :raises PluginError: one is no number, or has the name of a number that the history has anyway.
    """
    found = callback.metrics()
    for name, value in found.items():
        if name in OWN_METRICS or name.startswith("dev_"):
            raise PluginError(f"{type(callback).__name__}.metrics returned `{name}`, which the history has already; choose another name")
        if not isinstance(value, (int, float)):
            raise PluginError(f"{type(callback).__name__}.metrics returned `{name}`, which is {type(value).__name__}; use float(value)")
    return found


def _synchronized_time(device: torch.device) -> float:
    """Return the time in seconds, after all queued GPU work is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


@frozen
class TrainingResult:
    """The outcome of a training run: steps taken, the smoothed loss, one record per evaluation, and the cost.

    ``seconds`` is the time of the optimizer steps alone (forward, backward, update), including those before a resume. It excludes
    reading and padding text, stop rules, evaluation and checkpoints. ``earlier_seconds`` is the total time in the loop before the resume.
    ``parameters`` is the number of trained parameters.
    """

    steps: int
    loss: float
    history: list[dict[str, float]]
    seconds: float
    earlier_seconds: float
    parameters: int
