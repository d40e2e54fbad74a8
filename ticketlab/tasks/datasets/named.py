"""Data sets that have a name of ours, read from a copy at ``$TICKETLAB_DATA/NAME`` or from where the task says."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attrs import evolve, frozen

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.core.files import expand
from ticketlab.tasks.assembly.assemble import assemble
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.reading import file_kinds, files, tables
from ticketlab.tasks.reading.columns import Columns
from ticketlab.tasks.reading.labels import label_name, some
from ticketlab.tasks.reading.rows import Labelling, losses, usable, usable_splits
from ticketlab.tasks.reading.split_column import Division, divide
from ticketlab.tasks.reading.tables import Splits, Table

FOLDER = "TICKETLAB_DATA"
"""The environment variable that names a folder of copies, one a task: a folder of splits or a file."""


@frozen
class Named(Task):
    """A data set with declared columns and label names, which hold for every copy of it.

    A copy that is a single file and says no split is taken for ``lone_split``; as a challenge set, or with ``train_share``, for the test.
    """

    columns: ClassVar[Columns]
    label_names: ClassVar[tuple[str, ...]]
    codes: ClassVar[Mapping[str, str]] = {}
    """What some releases write in place of a label name."""
    also: ClassVar[Mapping[str, Sequence[str]]] = {}
    """What other releases call a column."""
    lone_split: ClassVar[str] = "train"
    positive_label: ClassVar[str | None] = None
    """The label, of two, whose F1 is the binary F1."""
    measures: ClassVar[tuple[str, ...]] = ()
    """What its benchmark reports beside the accuracy."""

    def load(self) -> TaskData:
        """Read the data set.

        :raises DataError: it is not to be found, or not as it was when this was written.
        """
        return self._load(challenge=False)

    def load_challenge(self) -> TaskData:
        """Read the data set as a challenge set; see :meth:`Task.load_challenge`. Raises as :meth:`load`."""
        return self._load(challenge=True)

    def published(self) -> Mapping[str, Table]:
        """Return the splits (``train``, ``validation``, ``test``) as they are published, where there is no copy in the folder of copies.

        :raises DataError: they are not to be had.
        """
        raise NotImplementedError

    def called(self, split: str) -> str:
        """Return what a split is called where it is published; the ids of its examples begin with it."""
        return split

    def _load(self, *, challenge: bool) -> TaskData:
        place = copy_of(self.name)
        copy = self._copy(place, challenge) if place else Splits(self._published(), named=True)
        division = self._divide(place, copy) if place else Division(copy.tables)
        found = division.tables
        present = {column for table in found.values() for column in table.columns}
        columns = evolve(self.columns, subsets=tuple(name for name in self.columns.subsets if name in present))
        fitted = {split: self._fit(table, columns, split == "test" and len(found) > 1) for split, table in found.items()}
        dropped: Counter[str] = Counter()
        labelling = Labelling()
        if place:
            splits = usable_splits(fitted, columns, dropped, labelling)
        else:
            splits = {split: usable(table, columns, self.called(split), dropped, labelling) for split, table in fitted.items()}
        source = f"task `{self.name}` at {place}" if place else f"task `{self.name}`"
        if "train" not in splits and len(splits) > 1 and not challenge:
            raise DataError(
                f"{source}: there is no training split beside {' and '.join(splits)}; it can be a challenge set, or leave one there"
            )
        left_out, lost = losses(labelling)
        return assemble(
            self.label,
            columns.texts,
            splits,
            source=source,
            declared=self.label_names,
            subsets=columns.subsets,
            positive_label=self.positive_label,
            measures=self.measures,
            train_rows=self.train_rows,
            train_share=self.train_share,
            challenge=challenge,
            dropped=dropped,
            notices=(*copy.said, *division.notices, *labelling.notices, *left_out),
            warnings=(*division.warnings, *lost),
        )

    def _published(self) -> Mapping[str, Table]:
        try:
            return self.published()
        except DataError as problem:
            if not Path(self.name).exists():
                raise
            raise type(problem)(f"{problem}; `./{self.name}` is what lies here under this name") from problem

    def check_place(self) -> None:
        """Find the files of a copy; see :meth:`Task.check_place`.

        :raises DataError: the folder of copies is not there, or the splits of the copy cannot be told.
        """
        if place := copy_of(self.name):
            files.check(place)

    def _copy(self, place: Path, challenge: bool) -> Splits:
        alone = "test" if challenge or self.train_share is not None else self.lone_split
        return tables.read_splits(files.find(place).otherwise(alone))

    def _divide(self, place: Path, copy: Splits) -> Division:
        options = {name for known, others in self.also.items() for name in (known, *others)}
        taken = {*self.columns.texts, self.columns.label, *self.columns.subsets, *options}
        return divide(copy.tables, named=copy.named, taken=taken, keep=taken, way=f"--task {place} --set tasks.split_column")

    def _fit(self, table: Table, columns: Columns, may_lack_labels: bool) -> Table:
        """Return the table under our names of columns and labels."""
        source_of = {name: name for name in columns.subsets}
        for name in (*columns.texts, columns.label):
            options = (name, *self.also.get(name, ()))
            found = next((option for option in options if option in table.columns), None)
            if found:
                source_of[name] = found
            elif name != columns.label or not may_lack_labels:
                asked = " or ".join(f"`{option}`" for option in options)
                raise DataError(f"{table.source}: task `{self.name}` needs a column {asked}; the columns are {some(table.columns)}")
        rows = [
            {name: self._named(row.get(source)) if name == columns.label else row.get(source) for name, source in source_of.items()}
            for row in table.rows
        ]
        return Table(table.source, tuple(source_of), rows)

    def _named(self, value: Any) -> Any:
        if isinstance(value, (list, dict, bytes)):
            return value
        name = label_name(value)
        folded = {known.casefold(): known for known in self.label_names}
        return self.codes.get(name) or folded.get(name.casefold(), name)


def copy_of(name: str) -> Path | None:
    """Return the folder or file ``NAME`` in ``$TICKETLAB_DATA``, if there is one.

    :raises DataError: the variable names no folder, or there are two files of this name.
    """
    value = os.environ.get(FOLDER, "").strip()
    if not value:
        return None
    folder = expand(value)
    if not folder.is_dir():
        raise DataError(f"{FOLDER}={value}: there is no such folder; it is where copies of data sets lie, each under its task's name")
    if (folder / name).is_dir():
        return folder / name
    found = sorted(
        file for file in folder.glob(f"{name}.*") if file_kinds.is_read(file, prose=False) and file_kinds.parts(file).stem == name
    )
    if len(found) > 1:
        raise DataError(f"{folder}: there are {' and '.join(file.name for file in found)}; leave one copy of `{name}` there")
    return found[0] if found else None


def nearest(name: str) -> str:
    """Return a hint at what lies in ``$TICKETLAB_DATA`` under nearly this name."""
    value = os.environ.get(FOLDER, "").strip()
    hint = did_you_mean(name, [entry.stem for entry in expand(value).iterdir()]) if value else ""
    return hint if "did you mean" in hint else ""
