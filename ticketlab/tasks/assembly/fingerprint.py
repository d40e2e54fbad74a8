"""The fingerprint of a data set: a hash of its content, which is part of the keys of results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ticketlab.tasks.base import Example, TaskData


def fingerprint(
    columns: Sequence[str],
    names: Sequence[str],
    splits: Mapping[str, Sequence[Example]],
    subsets: Sequence[str] = (),
    label_sets: Sequence[Sequence[int]] = (),
    positive_label: str | None = None,
) -> str:
    """Return the sha256 of everything that a result can depend on; the name of the data set is not included."""
    more: list[Any] = [list(subsets), [list(label_set) for label_set in label_sets]] if subsets or label_sets else []
    more += [] if positive_label is None else [{"positive_label": positive_label}]
    digest = hashlib.sha256(json.dumps([list(columns), list(names), *more]).encode())
    for split in sorted(splits):
        digest.update(json.dumps(split).encode())
        for example in splits[split]:
            parts = [example.subsets] if subsets else []
            digest.update(json.dumps([example.id, example.texts, example.label, *parts]).encode())
    return digest.hexdigest()


def fingerprint_of(data: TaskData) -> str:
    """Return the fingerprint of a task's content, whatever its field ``fingerprint`` says."""
    return fingerprint(data.columns, data.label_names, data.splits, data.subsets, data.label_sets, data.positive_label)
