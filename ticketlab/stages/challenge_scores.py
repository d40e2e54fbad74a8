"""Scores on the recipe's challenge sets during training, for learning curves."""

from __future__ import annotations

from ticketlab.objectives.base import TrainingSession
from ticketlab.stages.base import Context
from ticketlab.tasks.datasets import challenge_sets
from ticketlab.tasks.scoring import score_predictions
from ticketlab.training.batch import tokenize
from ticketlab.training.evaluation import predict

SCORES = ("accuracy", "macro_f1", "weighted_f1", "binary_f1")
"""The measures of learning curves; ``binary_f1`` only of a set that declares a positive label."""


def challenge_scores(context: Context, session: TrainingSession) -> dict[str, float]:
    """Return the scores of the session's model on the test split of each challenge set, as ``NAME_accuracy``, ``NAME_macro_f1``, ..."""
    own = context.data.label_names
    found: dict[str, float] = {}
    for data in context.ood:
        examples = data.examples("test")
        logits = predict(session.model, tokenize(examples, session.tokenizer, context.max_length), precision=context.precision)
        meaning = challenge_sets.map_labels(data.name, own, data.label_names, context.ood_map)
        scores = score_predictions(logits.argmax(dim=1).tolist(), examples, data, meaning)
        found |= {f"{data.name}_{name}": scores[name] for name in dict.fromkeys((*SCORES, *data.measures)) if scores.get(name) is not None}
    return found
