"""Tables as a task: local files (csv, tsv, jsonl, json, parquet and arrow), one or a folder of splits."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.core.files import expand
from ticketlab.core.settings import setting
from ticketlab.tasks.assembly import classes
from ticketlab.tasks.assembly.assemble import SET, assemble
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.reading import columns, files, subsets, tables
from ticketlab.tasks.reading.labels import label_name
from ticketlab.tasks.reading.missing_labels import check_markers, doubtful
from ticketlab.tasks.reading.rows import Labelling, check_ids, losses, usable_splits
from ticketlab.tasks.reading.split_column import divide
from ticketlab.tasks.reading.splits import roles
from ticketlab.tasks.reading.tables import Splits


def names(value: Any) -> Any:
    """Turn ``"premise,hypothesis"`` into a tuple; pass anything else through."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list) else value


def label_names(value: Any) -> Any:
    """Turn ``"neg,pos"``, ``-1`` and ``[0, 1]`` into a tuple of names as :func:`names` does, numbers as labels are called."""
    found = names([value] if isinstance(value, (int, float)) else value)
    return tuple(map(one_name, found)) if isinstance(found, tuple) else found


def one_name(value: Any) -> Any:
    """Turn a number into the name of the label that it is, as in the files; pass anything else through."""
    return label_name(value) if isinstance(value, (int, float)) else value


@frozen
class Tabular(Task):
    """A data set in tables that say nothing of what their columns mean: these are inferred where only one reading is possible.

    Labels go by name. A test split without labels counts as absent. What comes in one part is divided by a column whose values are names
    of splits (``split_column``), or else into train, dev and test; as a challenge set, or with ``train_share``, it is then the test.
    """

    text_columns: tuple[str, ...] = setting((), converter=names, help="the column of the text, or the two of a pair; inferred if empty")
    label_column: str | None = setting(None, help="the column of the label; inferred if none")
    labels: tuple[str, ...] = setting((), converter=label_names, help="label names in order, others refused; as found, sorted, if empty")
    positive_label: str | None = setting(
        None, converter=one_name, help="the label, of two, whose F1 is the binary F1 (`binary_f1`); if none, there is no binary F1"
    )
    drop_labels: tuple[str, ...] = setting((), converter=label_names, help="labels whose rows are left out, such as -1")
    split_column: str | None = setting(
        "",
        help="the column that says which split a row of a file belongs to (train, validation or dev, test); if empty, the one whose values "
        "are such names; none to divide the rows without it",
    )
    id_column: str | None = setting(None, help="the column of the ids, unique over all splits; if none, an id is split and row number")
    subset_columns: tuple[str, ...] | None = setting(
        None,
        converter=names,
        help="columns whose values are reported apart; if none, those of text with 2 to 50 values that repeat; an empty list for no column",
    )

    def load(self) -> TaskData:
        """Read the data set.

        :raises DataError: it is missing or malformed, columns are ambiguous, or labels don't make classes.
        """
        return self._load(challenge=False)

    def load_challenge(self) -> TaskData:
        """Read the data set as a challenge set; see :meth:`Task.load_challenge`.

        :raises DataError: it is missing or malformed, columns are ambiguous, or nothing is labelled.
        """
        return self._load(challenge=True)

    @property
    def _source(self) -> str:
        """What to call the data set in messages."""
        raise NotImplementedError

    def _splits(self, alone: str) -> Splits:
        """Return the tables; ``alone`` is the split of the only one, if nothing says which it is.

        :raises DataError: they are missing or malformed.
        """
        raise NotImplementedError

    def _load(self, *, challenge: bool) -> TaskData:
        if len(set(self.labels)) < len(self.labels):
            raise DataError(f"labels: a label is declared twice in {', '.join(self.labels)}")
        found = self._splits("test" if challenge or self.train_share is not None else "train")
        taken = {name for name in (*self.text_columns, self.label_column, self.id_column) if name is not None}
        way = f"--set {'ood' if challenge else 'tasks'}.split_column"
        division = divide(found.tables, self.split_column, named=found.named, taken=taken, keep=self.subset_columns or (), way=way)
        read = dict(division.tables)
        main = next(read[split] for split in ("train", "validation", "test") if split in read)
        try:
            chosen = columns.choose(main, self.text_columns, self.label_column)
        except DataError as problem:
            raise DataError("; ".join([str(problem), *division.notices])) from None
        chosen = subsets.complete(chosen, list(read.values()), self.subset_columns, self.id_column)
        dropped: Counter[str] = Counter()
        labelling = Labelling(self.labels, self.drop_labels)
        splits = usable_splits(read, chosen, dropped, labelling)
        marked, doubts = self._check_labels(labelling, challenge)
        left_out, lost = losses(labelling)
        notices = [*found.said, *division.notices, *labelling.notices, *marked, *left_out]
        if not self.labels:
            notices += classes.regression(chosen.label, {row.label for rows in splits.values() for row in rows})
        if "train" not in splits and len(splits) > 1 and not challenge:
            raise DataError(f"{self._source}: there is no training split beside {' and '.join(splits)}; name one train, or pass one file")
        if chosen.id:
            check_ids(self._source, chosen.id, splits)
        if not challenge and self.train_share is None:
            notices += roles({split: read[split].source for split in splits}, named=found.named)
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
            warnings=(*division.warnings, *lost, *doubts),
        )

    def _check_labels(self, labelling: Labelling, challenge: bool) -> tuple[list[str], list[str]]:
        """Refuse labels to leave out that are declared too or not there, and labels that may mean that there is none.

        Returns notices and warnings.
        """
        seen = labelling.absent.union(*labelling.found.values())
        for name in self.drop_labels:
            if name in self.labels:
                raise DataError(f"{self._source}: drop_labels: `{name}` is declared as a label too")
            if name not in seen:
                raise DataError(f"{self._source}: drop_labels: no row is labelled `{name}`{did_you_mean(name, seen - {''})}")
        if self.labels:
            return [], []
        drop = self.drop_labels
        left = {split: Counter({name: n for name, n in own.items() if name not in drop}) for split, own in labelling.found.items()}
        flags = (f"{SET}labels", f"{SET}drop_labels=") if challenge else ("--labels", "--drop-label ")
        return check_markers(self._source, left, *flags), doubtful(left, flags[1])


@frozen
class LocalDataset(Tabular):
    """A data set in files. Columns are inferred where only one reading is possible; labels go by name.

    Splits come from the names of the files (train, validation or dev, test), else from a column of a single file (``split_column``).
    """

    name: ClassVar[str] = "local"
    summary: ClassVar[str] = "a csv, tsv, jsonl, json, parquet or arrow file, or a folder of them"

    path: str = setting("", identity=False, help="the file or folder; results depend on what is in it, not on where it is")

    @property
    def label(self) -> str:
        """The folder's or the file's name."""
        return files.title(self._path) if self.path else self.name

    def check_place(self) -> None:
        """Find the files; see :meth:`Task.check_place`.

        :raises DataError: there are none, or their splits cannot be told.
        """
        files.check(self._path)

    @property
    def _path(self) -> Path:
        if not self.path:
            raise DataError("task `local` needs a path: pass a file or a folder with `--task PATH`")
        return expand(self.path)

    @property
    def _source(self) -> str:
        return self.path

    def _splits(self, alone: str) -> Splits:
        return tables.read_splits(files.find(self._path).otherwise(alone))
