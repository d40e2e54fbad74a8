"""Puts a task together: splits, label indices, sample and fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from ticketlab.errors import DataError
from ticketlab.tasks import labels
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.rows import Row
from ticketlab.tasks.splits import arrange, arrange_challenge, hold_out, pick, share_out


def assemble(
    name: str,
    columns: Sequence[str],
    splits: Mapping[str, Sequence[Row]],
    *,
    source: str = "",
    declared: Sequence[str] = (),
    subsets: Sequence[str] = (),
    train_rows: int | None = None,
    train_share: float | None = None,
    challenge: bool = False,
    dropped: Mapping[str, int] | None = None,
) -> TaskData:
    """Make a task of the splits that a data set has (see :func:`ticketlab.tasks.splits.arrange`) and sample its training split.

    ``source`` is what to call the data in messages, if not by its name. A ``challenge`` set may have a single class, and classes in one
    split alone.

    :raises DataError: a split without examples, a single class, a label that is not declared or not in train; ``train_share`` of a set that
        has a training split, or several splits.
    """
    source = source or name
    shared = _share(source, splits, train_share)
    if shared and not challenge and shared["train"]:
        shared["train"], shared["dev"] = hold_out(shared["train"])
    arranged = shared or (arrange_challenge(splits) if challenge else arrange(splits))
    trains = bool(shared) or "train" in splits
    for split, rows in arranged.items():
        needed = split == "test" or (trains and not challenge and not (shared and split == "dev"))
        if not rows and needed:
            left_out = "".join(f", {count} {reason}" for reason, count in (dropped or {}).items())
            raise DataError(f"{source}: no usable row is left for the {split} split{left_out}")
    known = [row for rows in arranged.values() for row in rows] if challenge else arranged["train" if trains else "test"]
    names = labels.settle(source, (row.label for row in known), declared, least=1 if challenge else 2)
    trained = {row.label for row in known}
    examples = {
        split: tuple(Example(row.id, row.texts, labels.index(source, split, row.label, trained, names), row.subsets) for row in rows)
        for split, rows in arranged.items()
    }
    if train_rows is not None:
        examples["train"] = tuple(pick(examples["train"], train_rows)[0])
    hashed = fingerprint(columns, names, examples, subsets)
    return TaskData(name, tuple(columns), names, examples, hashed, dict(dropped or {}), tuple(subsets))


def fingerprint(
    columns: Sequence[str],
    names: Sequence[str],
    splits: Mapping[str, Sequence[Example]],
    subsets: Sequence[str] = (),
    label_sets: Sequence[Sequence[int]] = (),
) -> str:
    """Return the sha256 of all that a result can depend on; what the data set is called is not among it."""
    more = [list(subsets), [list(one) for one in label_sets]] if subsets or label_sets else []
    digest = hashlib.sha256(json.dumps([list(columns), list(names), *more]).encode())
    for split in sorted(splits):
        digest.update(json.dumps(split).encode())
        for example in splits[split]:
            parts = [example.subsets] if subsets else []
            digest.update(json.dumps([example.id, example.texts, example.label, *parts]).encode())
    return digest.hexdigest()


def _share(source: str, splits: Mapping[str, Sequence[Row]], share: float | None) -> dict[str, list[Row]]:
    """Return the splits where a share of the only one is for training, nothing where none is asked for."""
    if share is None:
        return {}
    if "train" in splits:
        raise DataError(f"{source}: train_share: the set has a training split already; leave train_share out, or train_rows samples it")
    if len(splits) > 1:
        raise DataError(
            f"{source}: train_share: the set has {' and '.join(splits)} splits, and a single one can be divided; leave one there"
        )
    ((_, everything),) = splits.items()
    train, test = share_out(everything, share)
    return {"train": train, "dev": [], "test": test}
