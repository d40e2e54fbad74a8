"""Puts a task together: splits, label indices, sample and fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted
from ticketlab.tasks.assembly import classes, damaged, leaks, repeats
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.reading import labels
from ticketlab.tasks.reading.rows import LabelledRow
from ticketlab.tasks.reading.splits import arrange, arrange_challenge, hold_out, pick, share_out
from ticketlab.tasks.reading.text_equality import TextGroups, canonical, compare

SET = "--set ood.local."
"""What a setting of a challenge set begins with on the command line."""


def assemble(
    name: str,
    columns: Sequence[str],
    splits: Mapping[str, Sequence[LabelledRow]],
    *,
    source: str = "",
    declared: Sequence[str] = (),
    subsets: Sequence[str] = (),
    positive_label: str | None = None,
    measures: Sequence[str] = (),
    train_rows: int | None = None,
    train_share: float | None = None,
    challenge: bool = False,
    dropped: Mapping[str, int] | None = None,
    notices: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> TaskData:
    """Make a task of the splits that a data set has (see :func:`ticketlab.tasks.reading.splits.arrange`) and sample its training split.

    Examples with equal texts (:func:`ticketlab.tasks.reading.text_equality.compare`) are on one side of every split that is made here; what
    repeats is counted in every split. ``source`` is what to call the data in messages, if not by its name. A ``challenge`` set may have a
    single class, and classes in one split alone. ``notices`` and ``warnings`` are those of whoever read the rows.

    ``positive_label`` is the label whose F1 is the binary F1, and ``measures`` are shown in tables beside the accuracy.

    :raises DataError: a split without examples, a single class, a label that is not declared or not in train, labels that are no classes
        (:func:`ticketlab.tasks.assembly.classes.check`); a positive label that is none of two; ``train_share`` of a set that has a training
        split, or several splits.
    """
    source = source or name
    equal = compare({row.id: tuple(map(canonical, row.texts)) for rows in splits.values() for row in rows})
    same = equal.same
    shared = _share(source, splits, train_share, same, challenge)
    if shared and not challenge and shared["train"]:
        shared["train"], shared["dev"] = hold_out(shared["train"], same)
    arranged = shared or (arrange_challenge(splits, same) if challenge else arrange(splits, same))
    trains = bool(shared) or "train" in splits
    divided = bool(shared) or (len(splits) < 3 and "train" in splits)
    why = _why(equal) if divided and same else ""
    for split, rows in arranged.items():
        needed = split == "test" or (trains and not challenge and not (shared and split == "dev"))
        if not rows and needed:
            left_out = "".join(f", {count} {reason}" for reason, count in (dropped or {}).items())
            raise DataError(f"{source}: no usable row is left for the {split} split{left_out}{why}")
    known = [row for rows in arranged.values() for row in rows] if challenge else arranged["train" if trains else "test"]
    if not declared:
        classes.check(source, Counter(row.label for row in known), f"{SET}labels" if challenge else "--labels")
    try:
        names = labels.settle(source, (row.label for row in known), declared, least=1 if challenge else 2)
        trained = {row.label for row in known}
        examples = {
            split: tuple(Example(row.id, row.texts, labels.index(source, split, row.label, trained, names), row.subsets) for row in rows)
            for split, rows in arranged.items()
        }
    except DataError as problem:
        raise DataError(f"{problem}{why}") from None
    labels.check_positive(source, positive_label, names)
    if train_rows is not None:
        examples["train"] = tuple(pick(examples["train"], train_rows)[0])
    found = repeats.count(examples, equal)
    doubts = [] if declared else list(classes.doubts(Counter(row.label for row in known)))
    everything = sum(examples.values(), ())
    doubts += leaks.leaks(everything, names)
    few_damaged, many_damaged = damaged.damage(everything, columns)
    if not challenge:
        doubts += classes.small(_sizes(examples, names), [split for split in ("train", "dev", "test") if examples[split]])
    return TaskData(
        name=name,
        columns=tuple(columns),
        label_names=names,
        splits=examples,
        fingerprint=fingerprint(columns, names, examples, subsets, positive_label=positive_label),
        dropped=dict(dropped or {}),
        subsets=tuple(subsets),
        positive_label=positive_label,
        measures=tuple(measures),
        counts=found.counts,
        notices=(*notices, *few_damaged),
        warnings=(*repeats.said(found.of_splits), *warnings, *found.warnings, *many_damaged, *doubts),
        of_splits=found.of_splits,
    )


def fingerprint(
    columns: Sequence[str],
    names: Sequence[str],
    splits: Mapping[str, Sequence[Example]],
    subsets: Sequence[str] = (),
    label_sets: Sequence[Sequence[int]] = (),
    positive_label: str | None = None,
) -> str:
    """Return the sha256 of all that a result can depend on; what the data set is called is not among it."""
    more: list[Any] = [list(subsets), [list(one) for one in label_sets]] if subsets or label_sets else []
    more += [] if positive_label is None else [{"positive_label": positive_label}]
    digest = hashlib.sha256(json.dumps([list(columns), list(names), *more]).encode())
    for split in sorted(splits):
        digest.update(json.dumps(split).encode())
        for example in splits[split]:
            parts = [example.subsets] if subsets else []
            digest.update(json.dumps([example.id, example.texts, example.label, *parts]).encode())
    return digest.hexdigest()


def _why(equal: TextGroups) -> str:
    """Say why equal texts may leave too little for a split."""
    different = len(set(map(equal.key, equal.texts)))
    return f" ({len(equal.texts)} rows have {counted(different, 'different text')}, and rows with equal texts stay in one split)"


def _sizes(examples: Mapping[str, Sequence[Example]], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return how many examples each class has in each split."""
    counts = {split: Counter(example.label for example in own) for split, own in examples.items()}
    return {name: {split: own[index] for split, own in counts.items()} for index, name in enumerate(names)}


def _share(
    source: str, splits: Mapping[str, Sequence[LabelledRow]], share: float | None, same: Mapping[str, str], challenge: bool
) -> dict[str, list[LabelledRow]]:
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
    train, test = share_out(everything, share, same, challenge=challenge)
    return {"train": train, "dev": [], "test": test}
