"""Task: minimise a classification loss on the task's labelled examples."""

from __future__ import annotations

import functools
from typing import ClassVar

from attrs import evolve, frozen

from ticketlab.backbone import loading
from ticketlab.inference.random_state import derive_seed
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.metrics.base import Predictions, compute_metrics
from ticketlab.objectives.base import Objective, TrainingContext, TrainingParts, TrainingSession
from ticketlab.tasks.trained_on import DEV, TRAIN, TrainedOn, hash_texts
from ticketlab.training.batch import TokenizedRows, tokenize
from ticketlab.training.evaluation import predict, scores


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

    def loss_function(self, parts: TrainingParts) -> ClassificationLoss:
        assert parts.loss is not None, "the objective uses the task"
        return ClassificationLoss(
            self.model,
            parts.loss,
            precision=self._context.precision,
            callbacks=parts.callbacks,
            label_sets=self._context.data.label_sets,
            outputs=parts.outputs,
            teacher=self._context.teacher,
        )

    def evaluate(self) -> dict[str, float]:
        logits = predict(self.model, self._development, precision=self._context.precision)
        data = self._context.data
        by_name = scores(logits.argmax(dim=1), self._development.labels, len(data.label_names), data.positive_index)
        if self._context.metrics:
            same = [[index] for index in range(len(data.label_names))]
            probabilities = logits.double().softmax(dim=1).numpy()
            predictions = Predictions.of_set(probabilities, self._development.labels, data.label_names, same, data.positive_index)
            own = compute_metrics(self._context.metrics, predictions)
            by_name |= {name: value for name, value in own.items() if value is not None}
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
