"""Accuracy on the recipe's challenge sets during training, for learning curves."""

from __future__ import annotations

from ticketlab.objectives.base import TrainingSession
from ticketlab.stages.base import Context
from ticketlab.tasks.datasets import challenge_sets
from ticketlab.tasks.scoring import score_predictions
from ticketlab.training.batch import tokenize
from ticketlab.training.evaluation import predict


def challenge_accuracies(context: Context, session: TrainingSession) -> dict[str, float]:
    """Return the accuracy of the session's model on the test split of each challenge set, as ``NAME_accuracy``."""
    own = context.data.label_names
    accuracies = {}
    for data in context.ood:
        examples = data.examples("test")
        logits = predict(session.model, tokenize(examples, session.tokenizer, context.max_length), precision=context.precision)
        meaning = challenge_sets.map_labels(data.name, own, data.label_names, context.ood_map)
        scores = score_predictions(logits.argmax(dim=1).tolist(), examples, data, meaning)
        accuracies[f"{data.name}_accuracy"] = scores["accuracy"]
    return accuracies
