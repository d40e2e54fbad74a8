"""The predictions file of ``evaluate``, one JSON line per example, for comparing two models example by example."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from ticketlab.core import files
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.scoring import LabelMapping, to_set_labels

DIGITS = 6


def of_set(
    name: str, data: TaskData, split: str, logits: Tensor, task_labels: Sequence[str], meaning: LabelMapping
) -> list[Mapping[str, Any]]:
    """Return a line for each example of a split of ``data``, in its order.

    ``name`` is that of a challenge set, and empty for the task itself. ``logits`` are (rows, labels of the task). ``label`` and
    ``predicted`` are labels of the set; ``predicted`` is None if the prediction maps to none of them. ``probabilities`` are by label of the
    task, rounded to six digits.
    """
    split_of = {example.id: part for part, examples in data.splits.items() for example in examples}
    predicted = to_set_labels(logits.argmax(dim=1).tolist(), meaning)
    return [
        {
            "id": example.id,
            "set": name,
            "split": split_of[example.id],
            "label": data.label_names[example.label],
            "predicted": None if index is None else data.label_names[index],
            "probabilities": {label: round(value, DIGITS) for label, value in zip(task_labels, row, strict=True)},
        }
        for example, index, row in zip(data.examples(split), predicted, logits.double().softmax(dim=1).tolist(), strict=True)
    ]


def write(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write the lines atomically, as ASCII, so that ids and labels may contain any text."""
    files.write_text(path, "".join(f"{json.dumps(line)}\n" for line in lines))
