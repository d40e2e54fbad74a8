"""Counts repeated texts: within a split, in train and test, with different labels, and in both a task and a challenge set."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from ticketlab.core.formatting import counted, share_of, verb
from ticketlab.tasks.base import Example, SplitWarning, TaskData
from ticketlab.tasks.reading.text_equality import ExampleTexts, TextGroups, canonical_text, fold_texts

MANY_REPEATS = 0.1
"""The share of repeated texts in a split above which a warning is given."""


@frozen
class Repeats:
    """Counts of repeated texts, and warnings about single splits and about the whole data set."""

    counts: Mapping[str, int]
    split_warnings: tuple[SplitWarning, ...]
    warnings: Sequence[str]


def count_repeats(splits: Mapping[str, Sequence[Example]], equal: TextGroups) -> Repeats:
    """Count the repeats within each split, the dev and test texts that are also in train, and the texts with contradictory labels.

    Case is ignored, except for contradictory labels: the label may depend on the case.
    """
    keys = {split: [equal.key(example.id) for example in examples] for split, examples in splits.items()}
    counts = {f"repeated texts in {split}": len(own) - len(set(own)) for split, own in keys.items()}
    warnings = []
    split_warnings = [*_repeats_within_splits({**keys, "all": [key for own in keys.values() for key in own]})]
    train = set(keys["train"])
    for split in ("dev", "test"):
        inside = sum(key in train for key in keys[split])
        swapped = sum(key not in train and equal.swapped.get(key) in train for key in keys[split]) if equal.swapped else 0
        counts |= {f"{split} texts in train": inside, f"{split} pairs in train in the other order": swapped}
        if inside:
            share = _share(inside, keys[split], f"{split} texts")
            split_warnings.append(SplitWarning(split, f"{share} also in train: a model may have memorised their labels", trained=True))
        if swapped:
            share = _share(swapped, keys[split], f"{split} pairs")
            split_warnings.append(SplitWarning(split, f"{share} in train with the texts swapped", trained=True))
    dev = set(keys["dev"])
    counts["test texts in dev"] = sum(key in dev for key in keys["test"])
    counts["texts with contradictory labels"] = contradictory = _count_contradictory(splits, equal)
    if contradictory:
        have = verb(contradictory, "has", "have")
        different = counted(len(set().union(*keys.values())), "different text")
        warnings.append(f"{contradictory} of {different} {have} contradictory labels: no model can classify all their rows correctly")
    return Repeats({what: number for what, number in counts.items() if number}, tuple(split_warnings), warnings)


def describe_count(what: str, number: int) -> str:
    """Return an entry of :attr:`TaskData.counts` with its noun in the singular or plural: ``1 repeated text in test``."""
    singular = re.sub(r"(text|pair)s\b", r"\1", what, count=1)
    return counted(number, singular, what)


def _repeats_within_splits(keys: Mapping[str, Sequence[str]]) -> Iterator[SplitWarning]:
    for split, own in keys.items():
        repeated = len(own) - len(set(own))
        if repeated > MANY_REPEATS * len(own):
            what = "texts of all splits" if split == "all" else f"{split} texts"
            yield SplitWarning(
                split,
                f"{_share(repeated, own, what, 'repeats', 'repeat')} another: confidence intervals treat each as an independent text",
            )


def warnings_for(
    split_warnings: Sequence[SplitWarning], measured: Collection[str] = ("test",), after_training: Collection[str] = ("dev", "test")
) -> tuple[str, ...]:
    """Return the warnings about ``measured`` splits, and about splits evaluated ``after_training``, with models that may know ``train``."""
    return tuple(warning.text for warning in split_warnings if warning.split in (after_training if warning.trained else measured))


def with_warnings_for(data: TaskData, measured: Collection[str], after_training: Collection[str]) -> TaskData:
    """Return the data set with the split warnings of :func:`warnings_for` instead of the default ones, for training and testing on it."""
    usual = {warning.text for warning in data.split_warnings}
    return evolve(
        data,
        warnings=(*warnings_for(data.split_warnings, measured, after_training), *(text for text in data.warnings if text not in usual)),
    )


def _count_contradictory(splits: Mapping[str, Sequence[Example]], equal: TextGroups) -> int:
    labels: dict[ExampleTexts, set[int]] = {}
    for examples in splits.values():
        for example in examples:
            if example.id in equal.same:
                labels.setdefault(equal.texts[example.id], set()).add(example.label)
    return sum(len(own) > 1 for own in labels.values())


def with_overlap_counts(other: TaskData, tasks: Sequence[TaskData], *, mixed: bool) -> TaskData:
    """Return a challenge set with counts of its test texts that are also in a split of one of the tasks, and warnings about them.

    If its training examples are ``mixed`` into the tasks' training, those that are in a task's dev or test split are counted too.
    """
    counts = dict(other.counts)
    warnings = list(other.warnings)
    parts = [("test", "train"), ("test", "dev"), ("test", "test"), *([("train", "dev"), ("train", "test")] if mixed else [])]
    for own, theirs in parts:
        keys = [_key(example) for example in other.splits[own]]
        wanted = set(keys)
        for data in tasks:
            known = wanted.intersection(map(_key, data.splits[theirs]))
            inside = sum(key in known for key in keys)
            if inside:
                counts[f"{own} texts in {theirs} of {data.name}"] = inside
                warnings.append(f"{_share(inside, keys, f'{own} texts')} in {theirs} of {data.name}")
    return evolve(other, counts=counts, warnings=tuple(warnings))


def _key(example: Example) -> ExampleTexts:
    return fold_texts([canonical_text(text) for text in example.texts])


def _share(number: int, whole: Sequence[object], what: str, one: str = "is", many: str = "are") -> str:
    return f"{share_of(number, len(whole), what)} {verb(number, one, many)}"
