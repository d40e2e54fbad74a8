"""The contract of a task: a data set with its text columns, label names and splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from ticketlab.core.component import Component
from ticketlab.core.errors import DataError
from ticketlab.core.settings import ratio, setting


@frozen
class Example:
    """One labelled example. ``id`` is unique in the data set; ``texts`` follow the columns; ``label`` indexes the label names.

    ``subsets`` are its values in the columns of :attr:`TaskData.subsets`, empty where it has none.
    """

    id: str
    texts: tuple[str, ...]
    label: int
    subsets: tuple[str, ...] = ()


@frozen
class SplitWarning:
    """A warning about the examples of a split, or of ``all``; ``trained`` marks what holds only of a model that learnt from ``train``."""

    split: str
    text: str
    trained: bool = False


@frozen
class TaskData:
    """A task, read: its splits are ``train``, ``dev`` (for every selection) and ``test`` (for every reported number)."""

    name: str
    columns: tuple[str, ...]
    label_names: tuple[str, ...]
    splits: Mapping[str, tuple[Example, ...]]
    fingerprint: str
    dropped: Mapping[str, int] = field(factory=dict)
    """Rows left out, by reason (``unlabelled``, ``empty``)."""
    subsets: tuple[str, ...] = ()
    """Columns whose values divide the examples into parts that are reported apart, such as the heuristics of HANS."""
    positive_label: str | None = None
    """The label, of two, whose F1 is the binary F1; without it there is none."""
    measures: tuple[str, ...] = ()
    """What is reported of it beside the accuracy (see :mod:`ticketlab.tasks.metrics`): tables show it."""
    label_sets: tuple[tuple[int, ...], ...] = ()
    """What labels beyond the label names mean: ``len(label_names) + k`` is any class of ``label_sets[k]``. In training examples alone."""
    counts: Mapping[str, int] = field(factory=dict)
    """What was counted while reading, by what it is (``repeated texts``): said on the first line, and kept in results."""
    notices: tuple[str, ...] = ()
    """What was decided while reading that a user did not ask for, such as which column divides the rows: said, and kept in results."""
    warnings: tuple[str, ...] = ()
    """What makes numbers on this data mean less than they seem to: said, kept in results, and shown under tables."""
    of_splits: tuple[SplitWarning, ...] = ()
    """Warnings about single splits: a run says those of the splits that it looks at (:func:`ticketlab.tasks.assembly.repeats.looked_at`).

    ``warnings`` has those of a task that is trained on and tested.
    """

    @property
    def positive_index(self) -> int | None:
        """The index of the positive label, where there is one."""
        return None if self.positive_label is None else self.label_names.index(self.positive_label)

    def examples(self, split: str) -> tuple[Example, ...]:
        """Return the examples of a split, or of all splits together for ``all``.

        :raises DataError: there are none.
        """
        found = sum(self.splits.values(), ()) if split == "all" else self.splits[split]
        if not found:
            sizes = ", ".join(f"{len(examples)} {name}" for name, examples in self.splits.items())
            raise DataError(f"{self.name}: there are no {split} examples ({sizes}); a file called train, or of no such name, is divided")
        return found


@frozen
class Task(Component):
    """Settings of a data set."""

    kind: ClassVar[str] = "task"

    train_rows: int | None = setting(
        None, at_least=1, help="use at most this many training examples, each class in its proportion, picked by a hash of the id"
    )
    train_share: float | None = ratio(
        None,
        help="where the set has a single split and that is not called train, this part of each class, by a hash of the id, is for training "
        "(for mixing in, if it is a challenge set) and the rest is the test",
    )

    @property
    def label(self) -> str:
        """The name under which results of this task are reported."""
        return self.name

    def check_place(self) -> None:
        """Make sure, without reading it, that what is read is there, if it is on this machine.

        :raises DataError: it is not, or may not be read.
        """

    def load(self) -> TaskData:
        """Read the data set.

        :raises DataError: it cannot be read, or its rows do not make a task.
        """
        raise NotImplementedError

    def load_challenge(self) -> TaskData:
        """Read the data set as a challenge set: its test split is evaluated, its training split may be mixed into another task's.

        Built-in tasks let such a set have a single class, and classes in its test that its training split lacks.

        :raises DataError: as :meth:`load`.
        """
        return self.load()
