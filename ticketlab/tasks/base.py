"""The contract of a task: a data set with its text columns, label names and splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from ticketlab.component import Component
from ticketlab.errors import DataError
from ticketlab.options import setting


@frozen
class Example:
    """One labelled example. ``id`` is unique in the data set; ``texts`` follow the columns; ``label`` indexes the label names."""

    id: str
    texts: tuple[str, ...]
    label: int


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

    @property
    def label(self) -> str:
        """The name under which results of this task are reported."""
        return self.name

    def load(self) -> TaskData:
        """Read the data set.

        :raises DataError: it cannot be read, or its rows do not make a task.
        """
        raise NotImplementedError
