"""Injects a shortcut of known strength into the texts of a task: a marker word that agrees with the label at a chosen rate.

As in the synthetic data of Clark et al. (2019, https://arxiv.org/abs/1909.03683), a word is put before one of the texts. It is the marker
of the label in a known share of the examples, and the marker of another label in the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from attrs import evolve, fields

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.core.formatting import counted, joined, verb
from ticketlab.tasks.assembly import classes, marker_assignment
from ticketlab.tasks.assembly.fingerprint import fingerprint_of
from ticketlab.tasks.base import Example, Shortcut, Task, TaskData
from ticketlab.tasks.reading.labels import MULTI_LABEL_ADVICE, quote_some
from ticketlab.tasks.shortcut_markers import count_texts_with, markers_for

T = TypeVar("T", bound=Task)
SETTINGS = tuple(field.name for field in fields(Task) if field.name.startswith("shortcut"))
"""The settings of a task that describe its shortcut."""


def has_injected_shortcut(task: Task) -> bool:
    """Return whether a shortcut is injected into the texts of a task after they are read."""
    return task.shortcut is not None and not task.builds_shortcut


def without_injected_shortcut(task: T) -> T:
    """Return the task that reads the same data and injects nothing."""
    if task.builds_shortcut:
        return task
    return evolve(task, **{name: getattr(fields(Task), name).default for name in SETTINGS})


def inject_shortcut(task: Task, data: TaskData) -> TaskData:
    """Return the ``data`` of a task with the shortcut that its settings describe, and a new fingerprint.

    ``train`` and ``dev`` have markers at the rate, and so has ``test``, unless ``shortcut_test`` is ``unmarked``. Counts of repeated texts
    are about the texts without markers.

    :raises DataError: the labels are not single classes, there is no such column, or the number of markers is not that of the labels.
    """
    if not has_injected_shortcut(task):
        unused = [name for name in SETTINGS[1:] if getattr(task, name) != getattr(fields(Task), name).default]
        why = "the task builds its own shortcut" if task.builds_shortcut else "no shortcut is set"
        if not unused:
            return data
        return evolve(data, notices=(*data.notices, f"{joined(unused)} {verb(len(unused), 'has', 'have')} no effect: {why}"))
    assert task.shortcut is not None
    marked = [split for split in data.splits if split != "test" or task.shortcut_test == "marked"]
    labels = len(data.label_names)
    column, markers = _check(task, data)
    chosen = {split: marker_assignment.at_rate(data.splits[split], labels, task.shortcut, task.shortcut_seed) for split in marked}
    done = _with_markers(data, column, markers, chosen, task.shortcut)
    assert done.shortcut is not None
    shares = ", ".join(f"{100 * share:.1f} % of {split}" for split, share in done.shortcut.agreement.items())
    rest = "" if "test" in marked else "; test has no markers"
    where = f"before `{data.columns[column]}`"
    warning = f"an injected shortcut (rate {task.shortcut:g}): the marker {where} agrees with the label in {shares}{rest}"
    natural = count_texts_with(markers, [one.texts[column] for own in data.splits.values() for one in own])
    notices = [f"markers {where}: {', '.join(f'{word} ({name})' for name, word in done.shortcut.markers.items())}"]
    notices += [f"{counted(natural, 'text')} had a marker word before markers were added"] if natural else []
    return evolve(done, notices=(*data.notices, *notices), warnings=(*data.warnings, warning))


def challenge_of(task: Task, data: TaskData, name: str) -> TaskData:
    """Return the challenge set of a task's shortcut: its test examples, with their ids, and markers that are independent of the label.

    ``data`` is that of the task without its shortcut. The set has no training examples.

    :raises DataError: see :func:`inject_shortcut`.
    """
    column, markers = _check(task, data)
    alone = evolve(
        data, name=name, splits={"train": (), "dev": (), "test": data.splits["test"]}, counts={}, dropped={}, notices=(), warnings=(),
        split_warnings=(),
    )  # fmt: skip
    chosen = {"test": marker_assignment.at_chance(alone.splits["test"], len(data.label_names), task.shortcut_seed)}
    done = _with_markers(alone, column, markers, chosen, None)
    assert done.shortcut is not None
    warning = (
        f"the test texts of {data.name} with injected markers at chance before `{data.columns[column]}`, which agree with the label in "
        f"{100 * done.shortcut.agreement['test']:.1f} %"
    )
    return evolve(done, warnings=(warning,))


def _check(task: Task, data: TaskData) -> tuple[int, tuple[str, ...]]:
    """Return the index of the column that gets markers, and the marker of each label."""
    if task.shortcut_column is not None and task.shortcut_column not in data.columns:
        hint = did_you_mean(task.shortcut_column, data.columns)
        raise DataError(f"{data.name}: shortcut_column: there is no text column `{task.shortcut_column}`{hint}")
    names = data.label_names
    if data.label_sets or classes.are_bit_strings(names) or classes.joined_labels(names, sure=True):
        raise DataError(
            f"{data.name}: shortcut: a marker stands for one label, and the labels ({quote_some(names)}) are sets of several: "
            f"{MULTI_LABEL_ADVICE}"
        )
    if len(names) < 2:
        raise DataError(f"{data.name}: shortcut: there is a single label, {quote_some(names)}, so markers say nothing about it")
    column = len(data.columns) - 1 if task.shortcut_column is None else data.columns.index(task.shortcut_column)
    return column, markers_for(data.name, names, task.shortcut_markers)


def _with_markers(data: TaskData, column: int, markers: Sequence[str], chosen: Mapping[str, Sequence[int]], rate: float | None) -> TaskData:
    """Return the data with the ``chosen`` markers of some splits, the facts about the shortcut, and a new fingerprint."""
    splits = dict(data.splits)
    agreement: dict[str, float] = {}
    for split, indices in chosen.items():
        pairs = list(zip(splits[split], indices, strict=True))
        splits[split] = tuple(_with_marker(example, column, markers[index]) for example, index in pairs)
        if pairs:
            agreement[split] = sum(example.label == index for example, index in pairs) / len(pairs)
    shortcut = Shortcut(rate, data.columns[column], dict(zip(data.label_names, markers, strict=True)), agreement)
    done = evolve(data, splits=splits, shortcut=shortcut)
    return evolve(done, fingerprint=fingerprint_of(done))


def _with_marker(example: Example, column: int, marker: str) -> Example:
    texts = list(example.texts)
    texts[column] = f"{marker} {texts[column]}"
    return evolve(example, texts=tuple(texts))
