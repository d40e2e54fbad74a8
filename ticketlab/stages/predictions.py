"""The predictions file of ``evaluate``, one row per example in the Parquet format, for comparing models example by example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from ticketlab.core import files
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.scoring import LabelMapping, to_set_labels

DIGITS = 6
TEXTS = ("id", "set", "split", "label", "predicted")
PROBABILITY = "probability_"
"""The beginning of the column of a label's probability."""


def of_set(
    name: str, data: TaskData, split: str, logits: Tensor, task_labels: Sequence[str], meaning: LabelMapping
) -> list[Mapping[str, Any]]:
    """Return a row for each example of a split of ``data``, in its order.

    ``name`` is that of a challenge set, and empty for the task itself. ``logits`` are (rows, labels of the task). ``label`` and
    ``predicted`` are labels of the set; ``predicted`` is None if the prediction maps to none of them. The probability of each label of the
    task is rounded to six digits.
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
            **{PROBABILITY + label: round(value, DIGITS) for label, value in zip(task_labels, row, strict=True)},
        }
        for example, index, row in zip(data.examples(split), predicted, logits.double().softmax(dim=1).tolist(), strict=True)
    ]


def write(path: Path, rows: Sequence[Mapping[str, Any]], task_labels: Sequence[str]) -> None:
    """Write the rows atomically. Equal rows give equal bytes, with the same version of pyarrow.

    Lone surrogates in ids and labels, which UTF-8 does not allow, are written as backslash escapes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: pa.array([None if row[name] is None else _utf8(row[name]) for row in rows], pa.string()) for name in TEXTS}
    columns |= {_utf8(PROBABILITY + label): pa.array([row[PROBABILITY + label] for row in rows], pa.float64()) for label in task_labels}
    files.write_atomic(path, lambda written: pq.write_table(pa.table(columns), written, compression="zstd"))


def _utf8(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
