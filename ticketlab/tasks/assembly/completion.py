"""The last part of assembling a task: the training sample, counts of repeated texts, warnings about the data, and the fingerprint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import evolve

from ticketlab.tasks.assembly import classes, damaged, labels_in_texts, repeats
from ticketlab.tasks.assembly.fingerprint import fingerprint_of
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.reading.splits import stratified_sample
from ticketlab.tasks.reading.text_equality import TextGroups


def complete(data: TaskData, equal: TextGroups, *, train_rows: int | None, challenge: bool, label_warnings: Sequence[str] = ()) -> TaskData:
    """Return a task with its training split sampled, its counts, warnings and fingerprint.

    ``data`` has the splits ``train``, ``dev`` and ``test``, and the notices and warnings made while reading, to which others are added;
    ``equal`` groups all its examples. ``label_warnings`` are about names of labels that were not declared.
    """
    splits = dict(data.splits)
    if train_rows is not None:
        splits["train"] = tuple(stratified_sample(splits["train"], train_rows)[0])
    data = evolve(data, splits=splits)
    repeated = repeats.count_repeats(splits, equal)
    everything = sum(splits.values(), ())
    about_labels = [*label_warnings, *labels_in_texts.find_label_leaks(everything, data.label_names)]
    few_damaged, many_damaged = damaged.find_damage(everything, data.columns)
    if not challenge:
        evaluated = [split for split in ("train", "dev", "test") if splits[split]]
        about_labels += classes.missing_class_warnings(_class_sizes(splits, data.label_names), evaluated)
    warnings = (*repeats.warnings_for(repeated.split_warnings), *data.warnings, *repeated.warnings, *many_damaged, *about_labels)
    return evolve(
        data,
        fingerprint=fingerprint_of(data),
        counts=repeated.counts,
        notices=(*data.notices, *few_damaged),
        warnings=warnings,
        split_warnings=repeated.split_warnings,
    )


def _class_sizes(splits: Mapping[str, Sequence[Example]], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the number of examples of each class in each split."""
    counts = {split: Counter(example.label for example in own) for split, own in splits.items()}
    return {name: {split: own[index] for split, own in counts.items()} for index, name in enumerate(names)}
