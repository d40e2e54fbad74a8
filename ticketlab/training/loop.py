"""The training loop that fine-tuning, searching and retraining share. It is independent of pruners, adversaries and losses."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.backbone.device import wait_for
from ticketlab.core import progress
from ticketlab.core.callback import Callback
from ticketlab.core.errors import TrainingDiverged
from ticketlab.training import embedding_gradient, interruption
from ticketlab.training.batch import Batch, TokenizedRows
from ticketlab.training.checkpoint import Checkpoint, restore_tensors, state_tensors
from ticketlab.training.checkpoint_writer import CheckpointWriter
from ticketlab.training.loss_function import TrainingLoss
from ticketlab.training.model_state import unchanged
from ticketlab.training.parallel import Group
from ticketlab.training.result import TrainingResult
from ticketlab.training.schedule import LearningRates, Schedule, steps_per_epoch, total_steps
from ticketlab.training.split_step import LossStep, SplitStep, gradient_leaves
from ticketlab.training.step_checks import check_step, checked_metrics
from ticketlab.training.training_progress import TrainingProgress

Log = Callable[[dict[str, Any]], None]


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
    order_seed: int
    """The seed of the order of the rows."""
    dropout_seed: int
    """The seed of dropout in a batch that is computed in parts; otherwise dropout draws from torch's global generator."""
    checkpoint: Checkpoint
    checkpoint_seconds: float
    log: Log
    title: str
    evaluate: Callable[[int], dict[str, float]] | None = None
    evaluate_steps: int | None = None
    """Steps between evaluations. None evaluates at the end of each epoch. The last step is always followed by an evaluation."""
    clip_penalty: bool = True
    """Whether the gradients of penalties are clipped together with that of the loss, or added after clipping."""
    accumulate: int = 1
    """The number of micro-batches that each process divides its rows of a batch into."""
    group: Group | None = None
    """The processes that train together; None if this one is alone."""
    runs: Sequence[Callback] = ()
    """Those of ``callbacks`` whose state a pass may change: objective, loss and adversary."""
    followed: Sequence[Callback] = ()
    """Those of ``callbacks`` that every process of the group calls."""

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
        :raises Interrupted: on Ctrl-C, SIGTERM or SIGHUP, after a checkpoint was written. In the step that a callback ends the training
            with, the signal has its usual effect instead, and the last checkpoint is kept.
        :raises LostProcess: another process of the group has failed or ended.
        """
        learning_rates, batches = self._learning_rates(), _Batches(self.rows, self.batch_size, self.order_seed)
        saved = self.checkpoint.load(self.optimizer, self.callbacks)
        state = TrainingProgress.resumed(saved, 1 if self.group is None else self.group.number)
        resumed_at, elapsed_before = state.step, state.elapsed
        if self.group is not None:
            self.group.share_tensors(state_tensors(self.optimizer, self.followed))
        for callback in self.callbacks:
            callback.on_train_start(self.optimizer)
        if resumed_at:
            progress.say(f"{self.title}: resuming after step {resumed_at} of {self.steps}")
        started = time.perf_counter() - elapsed_before
        last_save = time.monotonic()
        self.loss_function.model.train()
        writer = CheckpointWriter(self.checkpoint, in_background=self._device.type != "cpu")
        bar_of_steps = progress.bar(self.title, self.steps, done=resumed_at)
        with bar_of_steps as bar, interruption.delayed() as interrupted, self._reused_embedding_gradient(), writer:
            for step in range(resumed_at, self.steps):
                if self.group is not None:
                    self.group.start_step(step)
                learning_rates.set(step)
                batch = self._prepared(batches.at(step), step)
                before = _synchronized_time(self._device)
                done = step - resumed_at
                with self._sharing_threads():
                    loss = self._step(step, batch, first=done == 0, checked=self._is_checked(step, done))
                state.seconds += _synchronized_time(self._device) - before
                stops = [callback.on_step_end(step) for callback in self.callbacks]  # every callback is called
                state.add_step(loss)
                bar.advance(1, f"loss {state.loss:.4f}")
                ended = any(stops)
                if self._evaluation_is_due(step) or ended:
                    self._check_finite(step)
                    state.history.append(self._evaluate(step, state.loss))
                if ended:
                    break
                number = interrupted()
                checkpoint_is_due = time.monotonic() - last_save > self.checkpoint_seconds and state.step < self.steps
                if number or checkpoint_is_due:
                    self._check_finite(step)
                    state.elapsed = time.perf_counter() - started
                    writer.save(self.optimizer, self.callbacks, state.to_json())
                    last_save = time.monotonic()
                if number:
                    writer.wait()
                    raise interruption.error(number, f"stopped after step {state.step} of {self.steps} of {self.title}")
        if self.group is not None:
            self.group.end_steps()
        trained = sum(parameter.numel() for group in self.optimizer.param_groups for parameter in group["params"])
        return TrainingResult(state.step, state.loss, state.history, state.seconds, elapsed_before, trained, state.processes)

    def follow(self) -> None:
        """Take part in the training that process 0 of the group runs, until it ends. ``callbacks`` are only those that every process calls.

        :raises TrainingDiverged: as in process 0.
        :raises LostProcess: process 0 has failed or ended.
        """
        assert self.group is not None
        learning_rates, batches = self._learning_rates(), _Batches(self.rows, self.batch_size, self.order_seed)
        restore_tensors(self.group.share_tensors(), self.optimizer, self.callbacks)
        for callback in self.callbacks:
            callback.on_train_start(self.optimizer)
        self.loss_function.model.train()
        done = 0
        while (step := self.group.next_step()) is not None:
            learning_rates.set(step)
            batch = self._prepared(batches.at(step), step)
            self._step(step, batch, first=done == 0, checked=self._is_checked(step, done))
            for callback in self.callbacks:
                callback.on_step_end(step)
            done += 1

    def _learning_rates(self) -> LearningRates:
        """Return the learning rates of the steps. The rates of the optimizer are the peaks, so this is called before any step."""
        return LearningRates(self.optimizer, self.callbacks, Schedule(self.steps, round(self.warmup * self.steps)))

    @property
    def _device(self) -> torch.device:
        device: torch.device = next(self.loss_function.model.parameters()).device
        return device

    @property
    def _split(self) -> SplitStep | None:
        """How a batch is divided; None if it is computed as a whole."""
        whole = self.group is None and self.accumulate == 1
        return None if whole else SplitStep(self.group, self.accumulate, self.dropout_seed, self.runs)

    def _reused_embedding_gradient(self) -> contextlib.AbstractContextManager[None]:
        """Reuse the memory of the gradient of the word embeddings, unless the gradients of parts of a batch are scaled and added."""
        return embedding_gradient.reused(self.loss_function.model) if self._split is None else contextlib.nullcontext()

    def _sharing_threads(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.group is None else self.group.sharing_threads()

    def _prepared(self, indices: Sequence[int], step: int) -> Batch:
        """Return the batch of a step on the device, for all its passes."""
        return self.loss_function.prepare(self.rows.collate(indices), step, self.steps).to(self._device)

    def _is_checked(self, step: int, done: int) -> bool:
        """Return whether it is checked that a step leaves the parameters to the optimizer."""
        return done < 2 or step % self.steps_per_epoch == 0 or step == self.steps - 1

    def _step(self, step: int, batch: Batch, *, first: bool = False, checked: bool = False) -> float:
        for callback in self.callbacks:
            callback.on_step_start(step)
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        with unchanged(self.title, [*self.loss_function.model.parameters(), *parameters] if checked else ()):
            loss = self._gradients(batch, step, parameters)
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

    def _gradients(self, batch: Batch, step: int, parameters: Sequence[Tensor]) -> Tensor:
        """Accumulate the gradients of the loss of a whole batch, and return that loss."""
        split = self._split
        if split is None:
            return self.adversary.step(self.loss_function, batch, step)
        model = self.loss_function.model
        return split.gradients(self.adversary, self.loss_function, batch, step, lambda: gradient_leaves(model, parameters))

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


class _Batches:
    """The rows of each step. Those of an epoch are divided into batches once."""

    def __init__(self, rows: TokenizedRows, batch_size: int, seed: int) -> None:
        self._rows, self._batch_size, self._seed = rows, batch_size, seed
        self._epoch, self._batches = -1, [[0]]

    def at(self, step: int) -> list[int]:
        """Return the rows of a step as indices."""
        epoch, index = divmod(step, steps_per_epoch(len(self._rows), self._batch_size))
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self._rows.epoch(self._batch_size, self._seed, epoch)
        return self._batches[index]


def _synchronized_time(device: torch.device) -> float:
    """Return the time in seconds, after all queued GPU work is done."""
    wait_for(device)
    return time.perf_counter()
