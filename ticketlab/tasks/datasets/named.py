"""Named data sets, read from a local copy in ``$TICKETLAB_DATA/NAME`` or from where they are published."""

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
from ticketlab.tasks.reading.labels import label_name, quote_some
from ticketlab.tasks.reading.rows import LabelTally, describe_dropped_rows, labelled_rows, labelled_rows_by_split
from ticketlab.tasks.reading.split_column import Division, divide_rows
from ticketlab.tasks.reading.tables import SplitTables, Table

FOLDER = "TICKETLAB_DATA"
"""The environment variable with the folder of local copies, one per task: a folder of splits or a file."""


@frozen
class NamedDataset(Task):
    """A data set with declared columns and label names, which every copy must have.

    A copy that is a single file not named after a split is used as ``lone_split``; as a challenge set, or with ``train_share``, as the
    test split.
    """

    columns: ClassVar[Columns]
    label_names: ClassVar[tuple[str, ...]]
    codes: ClassVar[Mapping[str, str]] = {}
    """Codes for label names in some releases, such as numbers."""
    also: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Names of columns in other releases."""
    lone_split: ClassVar[str] = "train"
    positive_label: ClassVar[str | None] = None
    """The one of two labels whose F1 is ``binary_f1``."""
    measures: ClassVar[tuple[str, ...]] = ()
    """Metrics that its benchmark reports in addition to the accuracy."""

    def load(self) -> TaskData:
        """Read the data set.

        :raises DataError: it is unavailable, or differs from its declaration.
        """
        return self._load(challenge=False)

    def load_challenge(self) -> TaskData:
        """Read the data set as a challenge set; see :meth:`Task.load_challenge`. Raises the errors of :meth:`load`."""
        return self._load(challenge=True)

    def published(self) -> Mapping[str, Table]:
        """Return the published splits (``train``, ``validation``, ``test``), for use if there is no local copy.

        :raises DataError: they are unavailable.
        """
        raise NotImplementedError

    def published_name(self, split: str) -> str:
        """Return the published name of a split; the ids of its examples begin with it."""
        return split

    def _load(self, *, challenge: bool) -> TaskData:
        place = find_copy(self.name)
        copy = self._copy(place, challenge) if place else SplitTables(self._published(), named=True)
        division = self._divide(place, copy) if place else Division(copy.tables)
        read = division.tables
        present = {column for table in read.values() for column in table.columns}
        columns = evolve(self.columns, subsets=tuple(name for name in self.columns.subsets if name in present))
        fitted = {split: self._fit(table, columns, split == "test" and len(read) > 1) for split, table in read.items()}
        dropped: Counter[str] = Counter()
        tally = LabelTally()
        if place:
            splits = labelled_rows_by_split(fitted, columns, dropped, tally)
        else:
            splits = {split: labelled_rows(table, columns, self.published_name(split), dropped, tally) for split, table in fitted.items()}
        source = f"task `{self.name}` at {place}" if place else f"task `{self.name}`"
        if "train" not in splits and len(splits) > 1 and not challenge:
            raise DataError(
                f"{source}: there is no training split, only {' and '.join(splits)}; use it as a challenge set, or keep one of the splits"
            )
        few_dropped, many_dropped = describe_dropped_rows(tally)
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
            notices=(*copy.all_notices, *division.notices, *tally.notices, *few_dropped),
            warnings=(*division.warnings, *many_dropped),
        )

    def _published(self) -> Mapping[str, Table]:
        try:
            return self.published()
        except DataError as problem:
            if not Path(self.name).exists():
                raise
            raise type(problem)(f"{problem}; `./{self.name}` is the local file or folder of this name") from problem

    def check_files_exist(self) -> None:
        """Check that the files of a local copy exist; see :meth:`Task.check_files_exist`.

        :raises DataError: the folder of copies does not exist, or the splits of the copy cannot be identified.
        """
        if place := find_copy(self.name):
            files.check_files(place)

    def _copy(self, place: Path, challenge: bool) -> SplitTables:
        default_split = "test" if challenge or self.train_share is not None else self.lone_split
        return tables.read_splits(files.find_files(place).with_default_split(default_split))

    def _divide(self, place: Path, copy: SplitTables) -> Division:
        options = {name for known, others in self.also.items() for name in (known, *others)}
        taken = {*self.columns.texts, self.columns.label, *self.columns.subsets, *options}
        return divide_rows(copy.tables, named=copy.named, taken=taken, keep=taken, flag=f"--task {place} --set tasks.split_column")

    def _fit(self, table: Table, columns: Columns, may_lack_labels: bool) -> Table:
        """Return the table with the declared names of columns and labels."""
        source_of = {name: name for name in columns.subsets}
        for name in (*columns.texts, columns.label):
            options = (name, *self.also.get(name, ()))
            found = next((option for option in options if option in table.columns), None)
            if found:
                source_of[name] = found
            elif name != columns.label or not may_lack_labels:
                expected = " or ".join(f"`{option}`" for option in options)
                raise DataError(
                    f"{table.source}: task `{self.name}` needs a column {expected}; the columns are {quote_some(table.columns)}"
                )
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


def find_copy(name: str) -> Path | None:
    """Return the folder or file ``NAME`` in ``$TICKETLAB_DATA``, None if there is none.

    :raises DataError: the variable is not a folder, or there are two files with this name.
    """
    value = os.environ.get(FOLDER, "").strip()
    if not value:
        return None
    folder = expand(value)
    if not folder.is_dir():
        raise DataError(f"{FOLDER}={value}: there is no such folder; it must contain local copies of data sets, each named after its task")
    if (folder / name).is_dir():
        return folder / name
    found = sorted(
        file for file in folder.glob(f"{name}.*") if file_kinds.is_supported(file, prose=False) and file_kinds.parse_name(file).stem == name
    )
    if len(found) > 1:
        raise DataError(f"{folder}: there are {' and '.join(file.name for file in found)}; keep one copy of `{name}`")
    return found[0] if found else None


def suggest_copy(name: str) -> str:
    """Suggest a copy in ``$TICKETLAB_DATA`` with a similar name; empty if there is none."""
    value = os.environ.get(FOLDER, "").strip()
    hint = did_you_mean(name, [entry.stem for entry in expand(value).iterdir()]) if value else ""
    return hint if "did you mean" in hint else ""
