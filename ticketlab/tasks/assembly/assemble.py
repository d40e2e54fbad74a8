"""Assembles a task from labelled rows: splits, label indices, training sample, warnings and fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted
from ticketlab.tasks.assembly import classes, damaged, labels_in_texts, repeats
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.reading import labels
from ticketlab.tasks.reading.rows import LabelledRow
from ticketlab.tasks.reading.splits import hold_out, make_challenge_splits, make_splits, stratified_sample, take_training_share
from ticketlab.tasks.reading.text_equality import TextGroups, canonical_text, group_equal_texts

CHALLENGE_SETTING = "--set ood.local."
"""The prefix of a challenge set's settings on the command line."""


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
    """Make a task from the existing splits of a data set (:func:`~ticketlab.tasks.reading.splits.make_splits`), and sample its train split.

    Examples with equal texts (:func:`~ticketlab.tasks.reading.text_equality.group_equal_texts`) stay on one side of every split made here,
    and repeated texts are counted. ``source`` is the name of the data in messages, by default ``name``. A ``challenge`` set may have a
    single class, and classes that occur in one split only. ``notices`` and ``warnings`` come from reading the rows.

    ``positive_label`` is the label whose F1 is ``binary_f1``. Tables show ``measures`` in addition to the accuracy.

    :raises DataError: a split has no examples; there is a single class; a label is not declared or not in train; labels are not classes
        (:func:`~ticketlab.tasks.assembly.classes.check_labels`); the positive label is not one of two labels; ``train_share`` is set for a
        data set with a training split or with several splits.
    """
    source = source or name
    equal = group_equal_texts({row.id: tuple(map(canonical_text, row.texts)) for rows in splits.values() for row in rows})
    same = equal.same
    shared = _share_for_training(source, splits, train_share, same, challenge)
    if shared and not challenge and shared["train"]:
        shared["train"], shared["dev"] = hold_out(shared["train"], same)
    arranged = shared or (make_challenge_splits(splits, same) if challenge else make_splits(splits, same))
    trains = bool(shared) or "train" in splits
    divided = bool(shared) or (len(splits) < 3 and "train" in splits)
    explanation = _explain_equal_texts(equal) if divided and same else ""
    for split, rows in arranged.items():
        needed = split == "test" or (trains and not challenge and not (shared and split == "dev"))
        if not rows and needed:
            dropped_rows = "".join(f", {count} {reason}" for reason, count in (dropped or {}).items())
            raise DataError(f"{source}: no usable rows are left for the {split} split{dropped_rows}{explanation}")
    known = [row for rows in arranged.values() for row in rows] if challenge else arranged["train" if trains else "test"]
    if not declared:
        classes.check_labels(source, Counter(row.label for row in known), f"{CHALLENGE_SETTING}labels" if challenge else "--labels")
    try:
        names = labels.resolve_label_names(source, (row.label for row in known), declared, least=1 if challenge else 2)
        trained = {row.label for row in known}
        examples = {
            split: tuple(
                Example(row.id, row.texts, labels.label_index(source, split, row.label, trained, names), row.subsets) for row in rows
            )
            for split, rows in arranged.items()
        }
    except DataError as problem:
        raise DataError(f"{problem}{explanation}") from None
    labels.check_positive_label(source, positive_label, names)
    if train_rows is not None:
        examples["train"] = tuple(stratified_sample(examples["train"], train_rows)[0])
    repeated = repeats.count_repeats(examples, equal)
    label_warnings = [] if declared else list(classes.label_warnings(Counter(row.label for row in known)))
    everything = sum(examples.values(), ())
    label_warnings += labels_in_texts.find_label_leaks(everything, names)
    few_damaged, many_damaged = damaged.find_damage(everything, columns)
    if not challenge:
        label_warnings += classes.missing_class_warnings(
            _class_sizes(examples, names), [split for split in ("train", "dev", "test") if examples[split]]
        )
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
        counts=repeated.counts,
        notices=(*notices, *few_damaged),
        warnings=(*repeats.warnings_for(repeated.split_warnings), *warnings, *repeated.warnings, *many_damaged, *label_warnings),
        split_warnings=repeated.split_warnings,
    )


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


def _explain_equal_texts(equal: TextGroups) -> str:
    """Explain that equal texts may leave too few rows for a split."""
    different = len(set(map(equal.key, equal.texts)))
    return f" ({len(equal.texts)} rows have {counted(different, 'different text')}, and rows with equal texts stay in one split)"


def _class_sizes(examples: Mapping[str, Sequence[Example]], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the number of examples of each class in each split."""
    counts = {split: Counter(example.label for example in own) for split, own in examples.items()}
    return {name: {split: own[index] for split, own in counts.items()} for index, name in enumerate(names)}


def _share_for_training(
    source: str, splits: Mapping[str, Sequence[LabelledRow]], share: float | None, same: Mapping[str, str], challenge: bool
) -> dict[str, list[LabelledRow]]:
    """Return the splits, with ``share`` of the only split used for training; an empty mapping if ``share`` is None."""
    if share is None:
        return {}
    if "train" in splits:
        raise DataError(f"{source}: train_share: the set already has a training split; remove train_share, or use train_rows to sample it")
    if len(splits) > 1:
        raise DataError(
            f"{source}: train_share: the set has {' and '.join(splits)} splits, and only a single split can be divided; keep one of them"
        )
    ((_, everything),) = splits.items()
    train, test = take_training_share(everything, share, same, challenge=challenge)
    return {"train": train, "dev": [], "test": test}
