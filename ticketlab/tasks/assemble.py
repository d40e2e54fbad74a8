"""Puts a task together: splits, label indices, sample and fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from ticketlab.errors import DataError
from ticketlab.tasks import labels
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.rows import Row
from ticketlab.tasks.splits import arrange, pick


def assemble(
    name: str,
    columns: Sequence[str],
    splits: Mapping[str, Sequence[Row]],
    *,
    source: str = "",
    declared: Sequence[str] = (),
    train_rows: int | None = None,
    dropped: Mapping[str, int] | None = None,
) -> TaskData:
    """Make a task of the splits that a data set has (see :func:`ticketlab.tasks.splits.arrange`) and sample its training split.

    ``source`` is what to call the data in messages, if not by its name.

    :raises DataError: a split without examples, a single class, a label that is not declared or not in train.
    """
    source = source or name
    arranged = arrange(splits)
    test_only = "train" not in splits
    for split, rows in arranged.items():
        if not rows and (split == "test" or not test_only):
            left_out = "".join(f", {count} {reason}" for reason, count in (dropped or {}).items())
            raise DataError(f"{source}: no usable row is left for the {split} split{left_out}")
    known = arranged["test" if test_only else "train"]
    names = labels.settle(source, (row.label for row in known), declared)
    trained = {row.label for row in known}
    examples = {
        split: tuple(Example(row.id, row.texts, labels.index(source, split, row.label, trained, names)) for row in rows)
        for split, rows in arranged.items()
    }
    if train_rows is not None:
        examples["train"] = tuple(pick(examples["train"], train_rows)[0])
    return TaskData(name, tuple(columns), names, examples, fingerprint(columns, names, examples), dict(dropped or {}))


def fingerprint(columns: Sequence[str], names: Sequence[str], splits: Mapping[str, Sequence[Example]]) -> str:
    """Return the sha256 of all that a result can depend on; what the data set is called is not among it."""
    digest = hashlib.sha256(json.dumps([list(columns), list(names)]).encode())
    for split in sorted(splits):
        digest.update(json.dumps(split).encode())
        for example in splits[split]:
            digest.update(json.dumps([example.id, example.texts, example.label]).encode())
    return digest.hexdigest()
