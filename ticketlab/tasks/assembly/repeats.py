"""Texts that come more than once: in one split, in training and test, under two labels, in a task and in a challenge set."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from ticketlab.core.formatting import counted, verb
from ticketlab.tasks.base import Example, SplitWarning, TaskData
from ticketlab.tasks.reading.text_equality import TextGroups, Texts, canonical, folded

MANY = 0.1
"""The share of test texts that repeat another which is worth a warning."""


@frozen
class Repeats:
    """What to say of a data set: counts for its first line, and warnings about single splits and about the whole."""

    counts: Mapping[str, int]
    of_splits: tuple[SplitWarning, ...]
    warnings: Sequence[str]


def count(splits: Mapping[str, Sequence[Example]], equal: TextGroups) -> Repeats:
    """Count repeats in each split, evaluated texts that are in training too, and texts with more than one label.

    Upper and lower case count as one, but not for contradictory labels: there the case may be what the label is about.
    """
    keys = {split: [equal.key(example.id) for example in examples] for split, examples in splits.items()}
    counts = {f"repeated texts in {split}": len(own) - len(set(own)) for split, own in keys.items()}
    warnings = []
    of_splits = [*_alike({**keys, "all": [key for own in keys.values() for key in own]})]
    train = set(keys["train"])
    for split in ("dev", "test"):
        inside = sum(key in train for key in keys[split])
        swapped = sum(key not in train and equal.swapped.get(key) in train for key in keys[split]) if equal.swapped else 0
        counts |= {f"{split} texts in train": inside, f"{split} pairs in train in the other order": swapped}
        if inside:
            share = _share(inside, keys[split], f"{split} texts")
            of_splits.append(SplitWarning(split, f"{share} in train too: a model can know their labels by heart", trained=True))
        if swapped:
            share = _share(swapped, keys[split], f"{split} pairs")
            of_splits.append(SplitWarning(split, f"{share} in train in the other order", trained=True))
    dev = set(keys["dev"])
    counts["test texts in dev"] = sum(key in dev for key in keys["test"])
    counts["texts with contradictory labels"] = torn = _contradictory(splits, equal)
    if torn:
        have = "has" if torn == 1 else "have"
        different = counted(len(set().union(*keys.values())), "different text")
        warnings.append(f"{torn} of {different} {have} contradictory labels: no model can be right about all their rows")
    return Repeats({what: number for what, number in counts.items() if number}, tuple(of_splits), warnings)


def said_of(what: str, number: int) -> str:
    """Return a count of :attr:`TaskData.counts` in words: ``1 repeated text in test``."""
    one = re.sub(r"(text|pair)s\b", r"\1", what, count=1)
    return counted(number, one, what)


def _alike(keys: Mapping[str, Sequence[str]]) -> Iterator[SplitWarning]:
    for split, own in keys.items():
        alike = len(own) - len(set(own))
        if alike > MANY * len(own):
            what = "texts of all splits" if split == "all" else f"{split} texts"
            yield SplitWarning(
                split,
                f"{_share(alike, own, what, 'repeats', 'repeat')} another: intervals take each for a text of its own",
            )


def said(
    of_splits: Sequence[SplitWarning], measured: Collection[str] = ("test",), after_training: Collection[str] = ("dev", "test")
) -> tuple[str, ...]:
    """Return the warnings about the splits that are ``measured``, and about those looked at with models that may have learnt from train."""
    return tuple(one.text for one in of_splits if one.split in (after_training if one.trained else measured))


def looked_at(data: TaskData, measured: Collection[str], after_training: Collection[str]) -> TaskData:
    """Return a data set that warns as :func:`said`, in place of what it says to who trains on it and tests."""
    usual = {one.text for one in data.of_splits}
    return evolve(data, warnings=(*said(data.of_splits, measured, after_training), *(text for text in data.warnings if text not in usual)))


def _contradictory(splits: Mapping[str, Sequence[Example]], equal: TextGroups) -> int:
    labels: dict[Texts, set[int]] = {}
    for examples in splits.values():
        for example in examples:
            if example.id in equal.same:
                labels.setdefault(equal.texts[example.id], set()).add(example.label)
    return sum(len(own) > 1 for own in labels.values())


def beside(other: TaskData, tasks: Sequence[TaskData], *, mixed: bool) -> TaskData:
    """Return a challenge set that says how many of its test texts the tasks train on, or have in a split of their own to measure on.

    Where its training examples are ``mixed`` into the tasks' training, it says too how many of these are test texts of a task.
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


def _key(example: Example) -> Texts:
    return folded([canonical(text) for text in example.texts])


def _share(number: int, whole: Sequence[object], what: str, one: str = "is", many: str = "are") -> str:
    return f"{number} of {len(whole)} {what} ({100 * number / len(whole):.1f} %) {verb(number, one, many)}"
