"""Task: minimise a classification loss on the task's labelled examples."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import ClassVar

from attrs import evolve, frozen

from ticketlab.backbone import loading
from ticketlab.core.callback import Callback
from ticketlab.inference.random_state import derive_seed
from ticketlab.objectives.base import Objective, TrainingContext, TrainingSession
from ticketlab.tasks.trained_on import DEV, TRAIN, TrainedOn, hash_texts
from ticketlab.training.batch import TokenizedRows, tokenize
from ticketlab.training.evaluation import predict, scores
from ticketlab.training.loss_function import ClassificationLoss


@frozen
class TaskObjective(Objective):
    """Minimise the stage's loss on the task's training examples."""

    name: ClassVar[str] = "task"
    summary: ClassVar[str] = "the labels of the task, with a loss"
    uses_task: ClassVar[bool] = True
    version: ClassVar[int] = 2  # 2: more development scores, named by the kind of F1

    def start_session(self, context: TrainingContext) -> TrainingSession:
        """Load the model with a classifier head, from the checkpoint or else initialised from the run's seed."""
        return _ClassificationSession(context)


class _ClassificationSession(TrainingSession):
    def __init__(self, context: TrainingContext) -> None:
        self._context = context
        self.model, self.tokenizer = loading.load_classifier(
            context.start, context.data.label_names, derive_seed(context.seed, "head"), context.warn
        )
        self.rows = evolve(self._encode("train"), loss_inputs=context.loss_inputs)

    def loss_function(self, callbacks: Sequence[Callback]) -> ClassificationLoss:
        context = self._context
        return ClassificationLoss(
            self.model, context.loss, precision=context.precision, callbacks=callbacks, label_sets=context.data.label_sets
        )

    def evaluate(self) -> dict[str, float]:
        predicted = predict(self.model, self._development, precision=self._context.precision).argmax(dim=1)
        data = self._context.data
        by_name = scores(predicted, self._development.labels, len(data.label_names), data.positive_index)
        return {f"dev_{name}": score for name, score in by_name.items()}

    def texts(self) -> TrainedOn:
        splits = self._context.data.splits
        return hash_texts(**{kind: (example.texts for example in splits[kind]) for kind in (TRAIN, DEV)})

    def provenance(self) -> dict[str, str]:
        return {"task": self._context.data.name, "task_fingerprint": self._context.data.fingerprint}

    @functools.cached_property
    def _development(self) -> TokenizedRows:
        return self._encode("dev")

    def _encode(self, split: str) -> TokenizedRows:
        return tokenize(self._context.data.examples(split), self.tokenizer, self._context.max_length)
