"""Adversarial data augmentation: adds adversarial examples, with the correct labels, to the training examples.

Used by Jin et al., 2020 (TextFooler) against their own attack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.attacks.results import export
from ticketlab.attacks.results.adversarial_examples import AdversarialDataset, collect
from ticketlab.attacks.results.record_file import files_in
from ticketlab.core.errors import DataError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.tasks.assembly.fingerprint import fingerprint_of
from ticketlab.tasks.base import Example, TaskData

SPLIT = "train"
"""The only split whose adversarial examples may be used for training."""


@frozen
class AugmentedTask:
    """A task with adversarial examples in its training split; ``counts`` has their number per attack.

    ``unknown`` counts those whose original is not a training example of the task, for instance because the task was subsampled;
    ``repeated`` counts duplicates.
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


def read_texts(place: Path, *, is_stage: bool) -> AdversarialDataset:
    """Read the adversarial examples of an attack stage's folder, a file of records or an exported data set.

    :raises UsageError: it is none of these.
    """
    if not is_stage:
        return export.read(place)
    found = files_in(place)
    if not found:
        raise UsageError(f"{place}: no files of records in this folder; name the folder of a finished attack stage")
    return collect(found)


def augment(data: TaskData, texts: AdversarialDataset) -> AugmentedTask:
    """Return the task with the texts appended to its training examples. Development and test examples are unchanged.

    A text is added only if the id, the label and the texts of its original are those of a training example.

    :raises UsageError: a text comes from another split.
    :raises DataError: none of the texts can be added, or the numbers of columns differ.
    """
    source = ", ".join(map(str, texts.sources))
    known = {example.id: example for example in data.splits[SPLIT]}
    taken = {example.id for examples in data.splits.values() for example in examples}
    added: list[Example] = []
    counts: Counter[str] = Counter()
    for text in texts.texts:
        if text.taken_from != SPLIT:
            raise UsageError(
                f"{source}: `{text.id}` comes from {text.taken_from or 'an unknown split'}; only examples of train may be used for training"
            )
        if len(text.texts) != len(data.columns):
            raise DataError(f"{source}: `{text.id}` has {counted(len(text.texts), 'text')} for the columns {', '.join(data.columns)}")
        original = known.get(text.original)
        if original is None or data.label_names[original.label] != text.label or text.before not in (None, original.texts):
            continue
        identity = _unused_id(text.id, taken)
        taken.add(identity)
        counts[text.attack] += 1
        added.append(Example(identity, text.texts, original.label, original.subsets))
    if texts.texts and not added:
        raise DataError(f"{source}: none of {counted(len(texts.texts), 'text')} comes from a training example of {data.name}")
    more = evolve(data, splits={**data.splits, SPLIT: (*data.splits[SPLIT], *added)})
    return AugmentedTask(evolve(more, fingerprint=fingerprint_of(more)), counts, len(texts.texts) - len(added), texts.repeated)


def _unused_id(identity: str, taken: set[str]) -> str:
    number, unused = 1, identity
    while unused in taken:
        number += 1
        unused = f"{identity}#{number}"
    return unused
