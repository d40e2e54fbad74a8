"""Adversarial data augmentation: training examples that an attack changed, with their right labels, beside the training examples.

So did Jin et al., 2020 (TextFooler) against their own attack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.attacks.results import export
from ticketlab.attacks.results.adversarial_examples import Collection, collect
from ticketlab.attacks.results.records import files_in
from ticketlab.core.errors import DataError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.tasks.assembly.assemble import fingerprint
from ticketlab.tasks.base import Example, TaskData

SPLIT = "train"
"""The only examples whose changed texts may be learnt from."""


@frozen
class Augmented:
    """A task with changed texts in its training split. ``counts`` has how many each attack gave.

    ``unknown`` counts those whose original is no training example of the task, as where its training examples were sampled; ``repeated``
    those that there were already.
    """

    data: TaskData
    counts: Mapping[str, int]
    unknown: int
    repeated: int

    def facts(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "added": sum(self.counts.values()),
            "by_attack": dict(self.counts),
            "unknown": self.unknown,
            "repeated": self.repeated,
        }


def texts_of(place: Path, *, is_stage: bool) -> Collection:
    """Return the texts of an attack stage's folder, of a file of records or of an exported data set.

    :raises UsageError: it is none of these.
    """
    if not is_stage:
        return export.read(place)
    found = files_in(place)
    if not found:
        raise UsageError(f"{place}: an attack stage leaves files of records, and there are none")
    return collect(found)


def augment(data: TaskData, texts: Collection) -> Augmented:
    """Return the task with the texts after its own training examples. Development and test examples stay as they are.

    A text counts only where the id, the label and the words of its original are those of a training example.

    :raises UsageError: a text comes from another split.
    :raises DataError: there are texts and none counts, or they are of another number of columns.
    """
    source = ", ".join(map(str, texts.sources))
    known = {example.id: example for example in data.splits[SPLIT]}
    taken = {example.id for examples in data.splits.values() for example in examples}
    added: list[Example] = []
    counts: Counter[str] = Counter()
    for one in texts.texts:
        if one.taken_from != SPLIT:
            raise UsageError(
                f"{source}: `{one.id}` comes from {one.taken_from or 'an unknown split'}; a training learns from examples of train"
            )
        if len(one.texts) != len(data.columns):
            raise DataError(f"{source}: `{one.id}` has {counted(len(one.texts), 'text')} under the columns {', '.join(data.columns)}")
        original = known.get(one.original)
        if original is None or data.label_names[original.label] != one.label or one.before not in (None, original.texts):
            continue
        identity = _free(one.id, taken)
        taken.add(identity)
        counts[one.attack] += 1
        added.append(Example(identity, one.texts, original.label, original.subsets))
    if texts.texts and not added:
        raise DataError(f"{source}: of {counted(len(texts.texts), 'text')} none comes from a training example of {data.name}")
    splits = {**data.splits, SPLIT: (*data.splits[SPLIT], *added)}
    hashed = fingerprint(data.columns, data.label_names, splits, data.subsets, data.label_sets, data.positive_label)
    return Augmented(evolve(data, splits=splits, fingerprint=hashed), counts, len(texts.texts) - len(added), texts.repeated)


def _free(identity: str, taken: set[str]) -> str:
    number, found = 1, identity
    while found in taken:
        number += 1
        found = f"{identity}#{number}"
    return found
