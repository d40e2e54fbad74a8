"""A training of a few steps in memory, whose parts a test can call one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from attrs import evolve
from torch import Tensor

from ticketlab.adversaries.base import Adversary
from ticketlab.adversaries.none import Clean
from ticketlab.backbone import loading
from ticketlab.core.callback import Callback, with_nested
from ticketlab.core.component import Component, Precision, with_components
from ticketlab.inference.random_state import derive_seed, seed_tensors
from ticketlab.losses.base import KEYWORDS, Loss, inputs_of
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.objectives.base import Objective, TrainingContext
from ticketlab.objectives.task import TaskObjective
from ticketlab.pruners.base import Pruner, Search
from ticketlab.pruners.hard_concrete import HardConcrete
from ticketlab.stages.training_runs import TrainingRuns
from ticketlab.stop_rules.base import Monitor, StopRule
from ticketlab.stop_rules.callback import StopRuleCallback
from ticketlab.tasks.base import TaskData
from ticketlab.testing.models.model_snapshot import ModelSnapshot, equal_bits
from ticketlab.training.batch import Batch
from ticketlab.training.begin import begin
from ticketlab.training.component import outputs_of
from ticketlab.training.optimizer import adamw
from ticketlab.training.split_step import SplitStep, gradient_leaves

SEED = 3
STEPS = 4
ROWS = 4
"""Rows of a batch."""
RATE = 1e-3


class Trial:
    """A training of ``STEPS`` steps of a tiny model, on a task of two labels.

    The parts are those of a training stage, and are begun in its order; those that are not given are the plain ones. The model is in
    training mode. Inputs of the loss that come from a bias model or a teacher are random probabilities. Passes keep the outputs that the
    parts require, and those that ``beside``, a component, would: so dropout is the same as in a training in which it takes part.
    """

    def __init__(
        self,
        model: Path,
        data: TaskData,
        *,
        pruner: Pruner | None = None,
        adversary: Adversary | None = None,
        loss: Loss | None = None,
        objective: Objective | None = None,
        stop: StopRule | None = None,
        beside: Component | None = None,
        precision: Precision = "fp32",
        sparsity: float = 0.3,
        steps: int = STEPS,
        max_length: int = 24,
    ) -> None:
        pruner = HardConcrete() if pruner is None and stop is not None else pruner
        self.pruner, self.loss, self.adversary = pruner, loss or CrossEntropy(), adversary or Clean()
        objective = objective or TaskObjective()
        needed = inputs_of(self.loss)
        teacher = loading.load_classifier(str(model), data.label_names, SEED + 1)[0].eval() if "teacher_hidden_states" in needed else None
        outputs = outputs_of([part for part in (pruner, self.adversary, self.loss, objective, stop, beside) if part is not None])
        probabilities = {KEYWORDS[name]: _loss_input(name, data) for name in sorted(needed & KEYWORDS.keys())}
        context = TrainingContext(
            str(model), data, self.loss, max_length, precision, SEED, loss_inputs=probabilities, teacher=teacher, warn=lambda _: None
        )
        self.session = objective.start_session(evolve(context, say=lambda _: None))
        self.model = self.session.model
        if pruner is not None:
            self.model.requires_grad_(pruner.trains_weights)
        loss_of_stage = self.loss if _uses_task(objective) else None
        self.runs = TrainingRuns(self.session, objective, self.adversary, loss_of_stage, outputs, steps, ROWS, SEED)
        self.before = ModelSnapshot.of(self.model)
        self.steps = steps
        self._sparsity = sparsity
        self._search = self.begin_search() if pruner is not None else None
        self.own_callbacks = list(with_nested([] if self._search is None else [self._search]))
        """The search, and the callbacks that it uses."""
        self.stopping = None if stop is None else self._begin_stop_rule(stop)
        stopping = [] if self.stopping is None else [self.stopping]
        self.callbacks: list[Callback] = [*self.own_callbacks, *with_nested(stopping), *(self.runs.callbacks if self._has_batches else ())]
        self._optimizer: torch.optim.Optimizer | None = None
        self._loss_function = self.runs.loss_function(self.callbacks) if self._has_batches else None
        self.model.train()

    @property
    def trains(self) -> bool:
        """Whether the training takes steps: not with a pruner that scores without them."""
        return self.pruner is None or self.pruner.searches

    @property
    def _has_batches(self) -> bool:
        """Whether the objective, the loss and the adversary take part: a pruner may score from batches without training."""
        return self.trains or (self.pruner is not None and self.pruner.scores_batches)

    @property
    def loss_function(self) -> Any:
        """The loss function of the training."""
        assert self._loss_function is not None
        return self._loss_function

    @property
    def search(self) -> Search:
        """The search of the pruner."""
        assert self._search is not None
        return self._search

    def begin_search(self) -> Search:
        """Begin a search of the pruner."""
        assert self.pruner is not None
        if self._has_batches:
            self.runs.callbacks  # noqa: B018  # begins them
        plan = self.runs.plan("gates", self._sparsity, scores=self._has_batches)
        return begin(self.pruner, plan, Search, adds=True, checked=not self.pruner.trains_weights)

    def _begin_stop_rule(self, stop: StopRule) -> StopRuleCallback:
        """Begin a stop rule, which observes the search."""
        return StopRuleCallback(
            stop,
            begin(stop, self.runs.plan("stop rule", self._sparsity), Monitor),
            steps_per_epoch=self.steps,
            scores=self.search.scores,
            development=lambda: self.session.evaluate()["dev_accuracy"],
            log=lambda _: None,
        )

    def batch(self, start: int = 0, rows: int = ROWS) -> Batch:
        """Return rows of the training data from ``start`` on, padded to the longest of them; after the last one comes the first again."""
        return self.session.rows.collate([index % len(self.session.rows) for index in range(start, start + rows)])

    def backward(self, batch: Batch, step: int = 0, *, seed: int = SEED, parts: int = 1) -> Tensor:
        """Take optimizer step ``step`` up to the gradients of the loss, and return the loss. ``seed`` seeds torch's global generator.

        With several ``parts``, the batch is divided into micro-batches.
        """
        self.optimizer  # noqa: B018  # starts the training
        prepared = self.loss_function.prepare(batch, step, self.steps)
        for callback in self.callbacks:
            callback.on_step_start(step)
        seed_tensors(derive_seed(seed, step))
        if parts == 1:
            loss = self.runs.adversary.step(self.loss_function, prepared, step)
        else:
            split = SplitStep(None, parts, seed, self.runs.callbacks)
            loss = split.gradients(
                self.runs.adversary, self.loss_function, prepared, step, lambda: gradient_leaves(self.model, self.parameters())
            )
        for callback in self.callbacks:
            callback.on_after_backward()
        return loss

    def update(self, step: int) -> bool:
        """Take the rest of a step: penalties, clipping and the optimizer. Return whether a callback ends the training."""
        for callback in self.callbacks:
            penalty = callback.penalty()
            if penalty is not None:
                torch.autograd.backward(penalty)
            callback.add_penalty()
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        stops = [callback.on_step_end(step) for callback in self.callbacks]  # every callback is called
        return any(stops)

    def train(self, steps: int | None = None) -> list[float]:
        """Take the first steps, all by default, and return the loss of each. Ends when a callback ends the training."""
        losses = []
        for step in range(self.steps if steps is None else steps):
            losses.append(float(self.backward(self.batch(step * ROWS), step)))
            if self.update(step):
                break
        return losses

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimizer of everything that is trained; the training starts when it is first needed."""
        if self._optimizer is None:
            self._optimizer = adamw(self.model, self.callbacks, RATE, 0.01)
            for callback in self.callbacks:
                callback.on_train_start(self._optimizer)
        return self._optimizer

    def parameters(self) -> list[Tensor]:
        """Return every parameter that is trained."""
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    def gradients(self) -> list[Tensor]:
        """Return copies of the gradients of :meth:`parameters`, zeros where there is none, and drop them."""
        found = [torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone() for parameter in self.parameters()]
        self.optimizer.zero_grad(set_to_none=True)
        return found


def _uses_task(objective: Objective) -> bool:
    return any(part.uses_task for part in with_components(objective) if isinstance(part, Objective))


def _loss_input(name: str, data: TaskData) -> Tensor:
    """Return random probabilities of the training examples, (rows, classes), or their logarithms for a bias model."""
    generator = torch.Generator().manual_seed(derive_seed(SEED, name))
    drawn = torch.randn(len(data.splits["train"]), len(data.label_names), generator=generator)
    return drawn.log_softmax(dim=1) if name == "bias" else drawn.softmax(dim=1)


def same_bits(first: Sequence[Tensor], second: Sequence[Tensor]) -> bool:
    """Return whether two lists of tensors are equal, bit by bit."""
    return len(first) == len(second) and all(map(equal_bits, first, second))


def same_state(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> str:
    """Return the name of the first tensor that is missing or has other bits in the second state; empty if there is none."""
    names = sorted(first.keys() ^ second.keys()) or [name for name in first if not equal_bits(first[name], second[name])]
    return names[0] if names else ""
