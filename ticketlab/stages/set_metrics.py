"""The metrics of a model's predictions on a set whose labels may differ from those of the model's task."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ticketlab.metrics.base import Metric, Predictions, compute_metrics
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.scoring import LabelMapping


def metrics_of_set(
    metrics: Sequence[Metric], logits: Tensor, examples: Sequence[Example], data: TaskData, meaning: LabelMapping
) -> dict[str, float | None]:
    """Return the values of metrics by name, None without examples. ``logits`` are (rows, labels of the task), in the order of examples."""
    if not examples:
        return {metric.name: None for metric in metrics}
    probabilities = logits.double().softmax(dim=1).numpy()
    labels = [example.label for example in examples]
    return compute_metrics(metrics, Predictions.of_set(probabilities, labels, data.label_names, meaning, data.positive_index))
