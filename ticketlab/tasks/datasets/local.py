"""Local files as a task (csv, tsv, jsonl, json, parquet and arrow; a file or a folder of splits), and the base class for tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.core.files import expand
from ticketlab.core.settings import setting
from ticketlab.tasks.assembly import classes
from ticketlab.tasks.assembly.assemble import CHALLENGE_SETTING, assemble
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.name_lists import to_names
from ticketlab.tasks.reading import columns, files, subsets, tables
from ticketlab.tasks.reading.labels import label_name
from ticketlab.tasks.reading.missing_labels import ambiguous_label_warnings, check_unlabelled_markers
from ticketlab.tasks.reading.rows import LabelTally, check_ids, describe_dropped_rows, labelled_rows_by_split
from ticketlab.tasks.reading.split_column import divide_rows
from ticketlab.tasks.reading.splits import describe_roles
from ticketlab.tasks.reading.tables import SplitTables


def to_label_names(value: Any) -> Any:
    """Convert ``"neg,pos"``, ``-1`` and ``[0, 1]`` to a tuple of label names; numbers become names as in files."""
    values = to_names([value] if isinstance(value, (int, float)) else value)
    return tuple(map(to_label_name, values)) if isinstance(values, tuple) else values


def to_label_name(value: Any) -> Any:
    """Convert a number to a label name as in files; return anything else unchanged."""
    return label_name(value) if isinstance(value, (int, float)) else value


@frozen
class Tabular(Task):
    """A data set in tables. Columns that are not set are inferred, if there is only one candidate.

    Labels are identified by name. An unlabelled test split is ignored. Data without splits is divided by a column whose values are names
    of splits (``split_column``), or else into train, dev and test. As a challenge set, or with ``train_share``, it is then the test split.
    """

    text_columns: tuple[str, ...] = setting((), converter=to_names, help="the text column, or the two columns of a pair; inferred if empty")
    label_column: str | None = setting(None, help="the label column; inferred if none")
    labels: tuple[str, ...] = setting(
        (), converter=to_label_names, help="label names in order, others are rejected; if empty, all labels, sorted"
    )
    positive_label: str | None = setting(
        None, converter=to_label_name, help="the one of two labels whose F1 is reported as `binary_f1`; if none, it is not reported"
    )
    drop_labels: tuple[str, ...] = setting((), converter=to_label_names, help="labels whose rows are dropped, such as -1")
    split_column: str | None = setting(
        "",
        help="the column with the split of each row (train, validation or dev, test); if empty, detected by its values; none to ignore "
        "split columns",
    )
    id_column: str | None = setting(None, help="the id column, unique across all splits; if none, ids consist of split and row number")
    subset_columns: tuple[str, ...] | None = setting(
        None,
        converter=to_names,
        help="columns whose values are reported separately; if none, text columns with 2 to 50 repeated values; an empty list for none",
    )

    def load(self) -> TaskData:
        """Read the data set.

        :raises DataError: it is missing or malformed, columns are ambiguous, or the labels are not classes.
        """
        return self._load(challenge=False)

    def load_challenge(self) -> TaskData:
        """Read the data set as a challenge set; see :meth:`Task.load_challenge`.

        :raises DataError: it is missing or malformed, columns are ambiguous, or no row is labelled.
        """
        return self._load(challenge=True)

    @property
    def _source(self) -> str:
        """The name of the data set in messages."""
        raise NotImplementedError

    def _splits(self, default_split: str) -> SplitTables:
        """Return the tables; a single table that is not named after a split is ``default_split``.

        :raises DataError: they are missing or malformed.
        """
        raise NotImplementedError

    def _load(self, *, challenge: bool) -> TaskData:
        if len(set(self.labels)) < len(self.labels):
            raise DataError(f"labels: a label is declared twice: {', '.join(self.labels)}")
        read_splits = self._splits("test" if challenge or self.train_share is not None else "train")
        taken = {name for name in (*self.text_columns, self.label_column, self.id_column) if name is not None}
        flag = f"--set {'ood' if challenge else 'tasks'}.split_column"
        division = divide_rows(
            read_splits.tables, self.split_column, named=read_splits.named, taken=taken, keep=self.subset_columns or (), flag=flag
        )
        read = dict(division.tables)
        main = next(read[split] for split in ("train", "validation", "test") if split in read)
        try:
            chosen = columns.infer_columns(main, self.text_columns, self.label_column)
        except DataError as problem:
            raise DataError("; ".join([str(problem), *division.notices])) from None
        chosen = subsets.add_subsets_and_ids(chosen, list(read.values()), self.subset_columns, self.id_column)
        dropped: Counter[str] = Counter()
        tally = LabelTally(self.labels, self.drop_labels)
        splits = labelled_rows_by_split(read, chosen, dropped, tally)
        marker_notices, label_warnings = self._check_labels(tally, challenge)
        few_dropped, many_dropped = describe_dropped_rows(tally)
        notices = [*read_splits.all_notices, *division.notices, *tally.notices, *marker_notices, *few_dropped]
        if not self.labels:
            notices += classes.score_notices(chosen.label, {row.label for rows in splits.values() for row in rows})
        if "train" not in splits and len(splits) > 1 and not challenge:
            raise DataError(f"{self._source}: there is no training split, only {' and '.join(splits)}; name one train, or pass one file")
        if chosen.id:
            check_ids(self._source, chosen.id, splits)
        if not challenge and self.train_share is None:
            notices += describe_roles({split: read[split].source for split in splits}, named=read_splits.named)
        return assemble(
            self.label,
            chosen.texts,
            splits,
            source=self._source,
            declared=self.labels,
            subsets=chosen.subsets,
            positive_label=self.positive_label,
            measures=("binary_f1",) if self.positive_label is not None else (),
            train_rows=self.train_rows,
            train_share=self.train_share,
            challenge=challenge,
            dropped=dropped,
            notices=notices,
            warnings=(*division.warnings, *many_dropped, *label_warnings),
        )

    def _check_labels(self, tally: LabelTally, challenge: bool) -> tuple[list[str], list[str]]:
        """Check the labels to drop, and labels that may mean "no label"; return notices and warnings.

        :raises DataError: a label to drop is also declared or does not occur, or a marker of unlabelled rows may be a class.
        """
        seen = tally.ignored_markers.union(*tally.counts.values())
        for name in self.drop_labels:
            if name in self.labels:
                raise DataError(f"{self._source}: drop_labels: `{name}` is also declared as a label")
            if name not in seen:
                raise DataError(f"{self._source}: drop_labels: no row is labelled `{name}`{did_you_mean(name, seen - {''})}")
        if self.labels:
            return [], []
        drop = self.drop_labels
        kept = {split: Counter({name: n for name, n in own.items() if name not in drop}) for split, own in tally.counts.items()}
        flags = (f"{CHALLENGE_SETTING}labels", f"{CHALLENGE_SETTING}drop_labels=") if challenge else ("--labels", "--drop-label ")
        return check_unlabelled_markers(self._source, kept, *flags), ambiguous_label_warnings(kept, flags[1])


@frozen
class LocalDataset(Tabular):
    """A data set in local files. Columns are inferred if there is only one candidate; labels are identified by name.

    Splits follow from the names of the files (train, validation or dev, test), or else from a column of a single file (``split_column``).
    """

    name: ClassVar[str] = "local"
    summary: ClassVar[str] = "a csv, tsv, jsonl, json, parquet or arrow file, or a folder of them"

    path: str = setting("", identity=False, help="the file or folder; results depend on its content, not on its location")

    @property
    def label(self) -> str:
        """The folder's or the file's name."""
        return files.dataset_title(self._path) if self.path else self.name

    def check_files_exist(self) -> None:
        """Check that the files exist; see :meth:`Task.check_files_exist`.

        :raises DataError: there are none, or their splits cannot be identified.
        """
        files.check_files(self._path)

    @property
    def _path(self) -> Path:
        if not self.path:
            raise DataError("task `local` needs a path: pass a file or a folder with `--task PATH`")
        return expand(self.path)

    @property
    def _source(self) -> str:
        return self.path

    def _splits(self, default_split: str) -> SplitTables:
        return tables.read_splits(files.find_files(self._path).with_default_split(default_split))
