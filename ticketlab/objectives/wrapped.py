"""Objectives around another objective: a session and a loss function that pass everything on, for subclasses to change a part of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.method_names import check_method_names
from ticketlab.objectives.base import TrainingParts, TrainingSession
from ticketlab.tasks.trained_on import TrainedOn
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import LossFunction, LossOutput, TrainingLoss
from ticketlab.training.plan import TrainingPlan


class WrappedSession(TrainingSession):
    """A session that passes every call on to ``inner``, the session of another objective.

    An objective names the other one in a setting, ``inner: Objective = component("objective", "task", help=...)``, and wraps
    ``self.inner.start_session(context)``. Most override only :meth:`loss_function`.
    """

    def __init__(self, inner: TrainingSession) -> None:
        self.inner = inner
        """The session of the other objective."""
        self.tokenizer = inner.tokenizer
        """The tokenizer of the inner session."""
        self.rows = inner.rows
        """The rows of the inner session."""
        self.head = inner.head
        """That of the inner session."""

    @property
    def model(self) -> Any:
        """The model of the inner session. A stage may replace it, by a shrunk one for example."""
        return self.inner.model

    @model.setter
    def model(self, model: Any) -> None:
        self.inner.model = model

    def begin(self, plan: TrainingPlan) -> Sequence[Callback]:
        """Return the callbacks of the inner session."""
        return self.inner.begin(plan)

    def loss_function(self, parts: TrainingParts) -> TrainingLoss:
        """Return the loss function of the inner session."""
        return self.inner.loss_function(parts)

    def evaluate(self) -> dict[str, float]:
        """Return the scores of the inner session."""
        return self.inner.evaluate()

    def facts(self) -> dict[str, Any]:
        """Return the facts of the inner session."""
        return self.inner.facts()

    def texts(self) -> TrainedOn | None:
        """Return the texts of the inner session."""
        return self.inner.texts()

    def provenance(self) -> dict[str, str]:
        """Return the provenance of the inner session."""
        return self.inner.provenance()


class WrappedLossFunction:
    """A loss function that passes every call on to ``inner``. A subclass overrides :meth:`extend` to change what a pass returns."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_method_names(cls, {})

    def __init__(self, inner: TrainingLoss) -> None:
        self.inner = inner
        """The loss function of the other objective."""
        self.model = inner.model
        """The model of the inner loss function."""
        self.embedding_dim = inner.embedding_dim
        """The width of its word embeddings."""

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Return the batch as the inner loss function prepares it."""
        return self.inner.prepare(batch, step, steps)

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run one forward pass of the inner loss function, and :meth:`extend` its output."""
        return self.extend(self.inner(batch, delta, weights), batch)

    def extend(self, output: LossOutput, batch: Batch) -> LossOutput:
        """Return the output of a pass, with another ``loss`` for example (``attrs.evolve(output, loss=...)``)."""
        return output

    def with_model(self, model: Any) -> LossFunction:
        """Return the same function of another model. See :class:`~ticketlab.training.loss_function.LossFunction`."""
        other = copy.copy(self)
        other.inner = cast("TrainingLoss", self.inner.with_model(model))
        other.model = model
        return other
