"""Loads tasks, built-in or of a plugin: whatever their authors return is checked, limited and hashed here.

A built-in task reads rows and returns what :func:`~ticketlab.tasks.assembly.assemble.assemble` makes of them. The task of a plugin returns
examples in the splits that it has, and gets the rest here: missing splits, ``train_rows`` and ``train_share``, counts of repeated texts,
warnings, and the fingerprint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import evolve

from ticketlab.core.errors import DataError
from ticketlab.tasks.assembly.arrangement import Arrangement, arrange
from ticketlab.tasks.assembly.checks import SPLITS, checked
from ticketlab.tasks.assembly.completion import complete
from ticketlab.tasks.assembly.fingerprint import fingerprint_of
from ticketlab.tasks.assembly.shortcut import has_injected_shortcut, inject_shortcut, without_injected_shortcut
from ticketlab.tasks.base import Example, Task, TaskData
from ticketlab.tasks.reading import labels
from ticketlab.tasks.reading.rows import LabelTally, describe_dropped_rows
from ticketlab.tasks.reading.splits import describe_roles
from ticketlab.tasks.reading.text_equality import ExampleTexts, canonical_text, group_equal_texts

AS_READ = {"dev": "validation"}
"""The name that a split has until it is arranged."""


def load_task(task: Task) -> TaskData:
    """Read a data set as a task, and inject its shortcut, if it has one.

    :raises DataError: it cannot be read, or what its author returned is not a task (:func:`~ticketlab.tasks.assembly.checks.checked`); or
        the shortcut does not fit the data (:func:`~ticketlab.tasks.assembly.shortcut.inject_shortcut`).
    """
    return inject_shortcut(task, load_without_shortcut(task))


def load_without_shortcut(task: Task) -> TaskData:
    """Read a data set as a task, whatever shortcut is to be injected. Raises the errors of :func:`load_task` about reading."""
    plain = without_injected_shortcut(task)
    return _completed(plain, plain.load(), challenge=False)


def load_challenge_set(task: Task) -> TaskData:
    """Read a data set as a challenge set; see :meth:`Task.load_challenge`. Raises the errors of :func:`load_task`.

    :raises DataError: a shortcut is to be injected, which belongs to a task.
    """
    if has_injected_shortcut(task):
        raise DataError(
            f"{task.label}: shortcut: a challenge set has none; set it on the task, whose challenge set has the markers at chance"
        )
    return _completed(task, task.load_challenge(), challenge=True)


def _completed(task: Task, loaded: object, *, challenge: bool) -> TaskData:
    """Return a task with everything that does not depend on its author.

    Data with the fingerprint of its content comes from :func:`~ticketlab.tasks.assembly.assemble.assemble`, which has completed it. Data
    that a plugin derives from it by changing examples has another content, and is completed again.
    """
    source = f"task `{task.label}`"
    data = evolve(checked(source, loaded), name=task.label)
    if data.fingerprint == fingerprint_of(data):
        return data
    data, texts = _without_empty_texts(data)
    splits = {AS_READ.get(split, split): examples for split, examples in data.splits.items() if examples}
    if not splits or ("train" not in splits and len(splits) > 1 and not challenge):
        has = f"only {' and '.join(split for split in SPLITS if data.splits.get(split))}" if splits else "no split has examples"
        raise DataError(f"{source}: there is no training split, {has}; `load` must return the split train, or a single split to test on")
    equal = group_equal_texts(texts)
    is_derived = bool(data.fingerprint) and data.splits.keys() == set(SPLITS)  # from data that has been divided according to the settings
    train_share = None if is_derived else task.train_share
    arranged = arrange(source, splits, equal, train_share=train_share, challenge=challenge, dropped=data.dropped)
    _check_labels(source, data, arranged, challenge)
    if not challenge and not is_derived and train_share is None:
        roles = describe_roles({split: split for split in splits}, named=True)
        data = evolve(data, notices=(*data.notices, *roles))
    data = evolve(data, splits={split: tuple(examples) for split, examples in arranged.splits.items()})
    done = complete(data, equal, train_rows=task.train_rows, challenge=challenge)
    return evolve(done, counts={**data.counts, **done.counts}, notices=_distinct(done.notices), warnings=_distinct(done.warnings))


def _without_empty_texts(data: TaskData) -> tuple[TaskData, dict[str, ExampleTexts]]:
    """Drop and count the examples with an empty text, as when reading files; return the canonical texts of the others, too."""
    texts = {example.id: tuple(map(canonical_text, example.texts)) for examples in data.splits.values() for example in examples}
    kept = {split: tuple(one for one in examples if "" not in texts[one.id]) for split, examples in data.splits.items()}
    empty = {split: len(examples) - len(kept[split]) for split, examples in data.splits.items()}
    if not any(empty.values()):
        return data, texts
    tally = LabelTally()
    for split, number in empty.items():
        tally.counts[split], tally.dropped[split] = Counter({"": len(data.splits[split])}), +Counter({"empty": number})
    few_dropped, many_dropped = describe_dropped_rows(tally)
    data = evolve(
        data,
        splits=kept,
        dropped={**data.dropped, "empty": sum(empty.values()) + data.dropped.get("empty", 0)},
        notices=(*data.notices, *few_dropped),
        warnings=(*data.warnings, *many_dropped),
    )
    return data, {example.id: texts[example.id] for examples in kept.values() for example in examples}


def _check_labels(source: str, data: TaskData, arranged: Arrangement[Example], challenge: bool) -> None:
    """Check that there are classes to tell apart, and that the evaluated ones occur in train.

    :raises DataError: there is a single class, unless in a ``challenge`` set, or a label of dev or test is not in train.
    """

    def named(examples: Sequence[Example]) -> list[str]:
        meanings = [(label,) for label in range(len(data.label_names))] + list(data.label_sets)
        return [data.label_names[index] for label in dict.fromkeys(example.label for example in examples) for index in meanings[label]]

    try:
        known = named([example for own in arranged.splits.values() for example in own] if challenge else arranged.known)
        labels.resolve_label_names(source, known, data.label_names, trains=arranged.trains, challenge=challenge)
        for split, examples in arranged.splits.items():
            for name in named(examples):
                labels.label_index(source, split, name, set(known), data.label_names)
    except DataError as problem:
        raise DataError(f"{problem}{arranged.explanation}") from None


def _distinct(messages: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(messages))
