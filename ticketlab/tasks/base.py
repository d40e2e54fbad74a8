"""The base class of tasks, and the data that a task loads: text columns, label names and splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from ticketlab.core.component import Component
from ticketlab.core.errors import DataError
from ticketlab.core.settings import ratio, setting
from ticketlab.tasks.name_lists import to_names
from ticketlab.tasks.shortcut_markers import check_markers


@frozen
class Example:
    """One labelled example."""

    id: str
    """An id that is unique in the data set."""
    texts: tuple[str, ...]
    """One text for each column."""
    label: int
    """The index of the label in the label names."""
    subsets: tuple[str, ...] = ()
    """The values in the columns :attr:`TaskData.subsets`, an empty string for a missing value."""


@frozen
class SplitWarning:
    """A warning about the examples of a split."""

    split: str
    """The split, or ``all``."""
    text: str
    """The warning."""
    trained: bool = False
    """Whether it applies only to models trained on ``train``."""


@frozen
class Shortcut:
    """A shortcut that was injected into data: a marker word before one of the texts of each example."""

    rate: float | None
    """The rate at which the marker is that of the label; None if markers are at chance."""
    column: str
    """The text column that has the markers."""
    markers: Mapping[str, str]
    """The marker of each label, by the name of the label."""
    agreement: Mapping[str, float]
    """The share of the examples of each split whose marker is that of their label; splits without markers are left out."""


@frozen
class TaskData:
    """A loaded task. Its splits are ``train``, ``dev`` (for every selection) and ``test`` (for every reported number).

    What :meth:`Task.load` of a plugin returns may lack splits, and is completed by :func:`ticketlab.tasks.assembly.loading.load_task`.
    """

    name: str
    """The name of the task in results."""
    columns: tuple[str, ...]
    """The names of the text columns: one, or two for pairs."""
    label_names: tuple[str, ...]
    """The names of the labels, in the order of the outputs of classifiers."""
    splits: Mapping[str, tuple[Example, ...]]
    """The examples of each split."""
    fingerprint: str = ""
    """The hash of the content. It is computed when a task is loaded; whatever :meth:`Task.load` sets is replaced."""
    dropped: Mapping[str, int] = field(factory=dict)
    """The number of dropped rows by reason (``unlabelled``, ``empty``)."""
    subsets: tuple[str, ...] = ()
    """Columns whose values divide the examples into subsets with separate results, such as the heuristics of HANS."""
    positive_label: str | None = None
    """The one of two labels whose F1 is ``binary_f1``; if None, ``binary_f1`` is not reported."""
    measures: tuple[str, ...] = ()
    """Metrics that tables show in addition to the accuracy (see :mod:`ticketlab.tasks.metrics`)."""
    label_sets: tuple[tuple[int, ...], ...] = ()
    """Meaning of labels beyond the label names: ``len(label_names) + k`` is any class in ``label_sets[k]``. In training examples only."""
    counts: Mapping[str, int] = field(factory=dict)
    """Counts made while reading, by name (``repeated texts in test``): printed with the data set, and stored in results."""
    notices: tuple[str, ...] = ()
    """Decisions made while reading that the user did not request, such as using a split column: printed, and stored in results."""
    warnings: tuple[str, ...] = ()
    """Reasons why results on this data may be misleading: printed, stored in results, and shown under tables."""
    split_warnings: tuple[SplitWarning, ...] = ()
    """Warnings about single splits; a run prints those of the splits it uses (:func:`~ticketlab.tasks.assembly.repeats.with_warnings_for`).

    Until then ``warnings`` contains those for training and testing on the data.
    """

    shortcut: Shortcut | None = None
    """The shortcut that was injected, None if there is none. It is set when a task is loaded; the texts contain it."""

    @property
    def positive_index(self) -> int | None:
        """The index of the positive label, None if there is none."""
        return None if self.positive_label is None else self.label_names.index(self.positive_label)

    def examples(self, split: str) -> tuple[Example, ...]:
        """Return the examples of a split, or of all splits together for ``all``.

        :raises DataError: there are none.
        """
        examples = sum(self.splits.values(), ()) if split == "all" else self.splits[split]
        if not examples:
            sizes = ", ".join(f"{len(own)} {name}" for name, own in self.splits.items())
            raise DataError(
                f"{self.name}: there are no {split} examples ({sizes}); a single file is divided unless it is named after a split other "
                "than train"
            )
        return examples


@frozen
class Task(Component):
    """The settings of a data set."""

    kind: ClassVar[str] = "task"
    builds_shortcut: ClassVar[bool] = False
    """Whether :meth:`load` generates examples with a shortcut of its own, at the rate ``shortcut``; no markers are injected then."""

    train_rows: int | None = setting(
        None, at_least=1, help="use at most this many training examples: a stratified sample, selected by a hash of the id"
    )
    train_share: float | None = ratio(
        None,
        help="if the data set has a single split that is not called train, use this share of each class, selected by a hash of the id, for "
        "training (for mixing in, if it is a challenge set), and the rest as the test split",
    )
    shortcut: float | None = ratio(
        None,
        help="inject a shortcut: put a marker word before a text, and let it be that of the label in this share of the examples, otherwise "
        "that of another label, drawn uniformly; 1 / (number of labels) is no information",
    )
    shortcut_column: str | None = setting(None, help="the text column that gets the markers; the last one if none")
    shortcut_markers: tuple[str, ...] = setting(
        (),
        check=check_markers,
        converter=to_names,
        help="the marker word of each label, in the order of the labels; if empty, neutral words",
    )
    shortcut_seed: int = setting(0, at_least=0, help="another seed gives the examples other markers")
    shortcut_test: str = setting(
        "marked", choices=("marked", "unmarked"), help="whether the test examples have markers at the rate, as train and dev, or none"
    )

    @property
    def label(self) -> str:
        """The name of this task in results."""
        return self.name

    def check_files_exist(self) -> None:
        """Check that the files to read exist, without reading them. It is called before the data of any task of a run is read.

        Data that is not on this machine is not checked.

        :raises DataError: a file does not exist or is not readable.
        """

    def load(self) -> TaskData:
        """Read the data set and return its examples in the splits that it has: ``train``, ``dev`` (or ``validation``) and ``test``.

        Everything else belongs to the caller: it checks all fields and examples, divides ``train`` if ``dev`` or ``test`` is missing or
        empty, drops empty texts, applies ``train_rows``, ``train_share`` and ``shortcut``, warns about repeated texts and missing classes,
        and computes the fingerprint, so that a change of the examples changes the keys of results. The order of ``label_names`` is that of
        the outputs of classifiers: it must be the same for every call. A single split other than train is the test split.

        :raises DataError: it cannot be read, or its rows do not form a task.
        """
        raise NotImplementedError

    def load_challenge(self) -> TaskData:
        """Read the data set as a challenge set: its test split is evaluated, and its training split may be mixed into another task's.

        With built-in tasks, such a set may have a single class, and classes in its test split that its training split lacks.

        :raises DataError: see :meth:`load`.
        """
        return self.load()
