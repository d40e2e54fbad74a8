"""Local files as a task: csv, tsv, jsonl, json and parquet, one file or a folder of splits."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.errors import DataError
from ticketlab.files import expand
from ticketlab.options import setting
from ticketlab.tasks import columns, files, subsets, tables
from ticketlab.tasks.assemble import assemble
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.rows import check_ids, usable_splits


def names(value: Any) -> Any:
    """Turn ``"premise,hypothesis"`` into a tuple; pass anything else through."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list) else value


@frozen
class Local(Task):
    """A data set in files. Columns are inferred where only one reading is possible; labels go by name.

    Splits come from the names of the files (train, validation or dev, test). A test split without labels counts as absent.
    A single file whose name says no split is divided into train, dev and test; as a challenge set, or with ``train_share``, it is the test.
    """

    name: ClassVar[str] = "local"
    summary: ClassVar[str] = "a csv, tsv, jsonl or parquet file, or a folder of them"

    path: str = setting("", identity=False, help="the file or folder; results depend on what is in it, not on where it is")
    text_columns: tuple[str, ...] = setting((), converter=names, help="the column of the text, or the two of a pair; inferred if empty")
    label_column: str | None = setting(None, help="the column of the label; inferred if none")
    labels: tuple[str, ...] = setting((), converter=names, help="label names in order, others refused; as found, sorted, if empty")
    id_column: str | None = setting(None, help="the column of the ids, unique over all splits; if none, an id is split and row number")
    subset_columns: tuple[str, ...] | None = setting(
        None,
        converter=names,
        help="columns whose values are reported apart; if none, those of text with 2 to 50 values that repeat; an empty list for no column",
    )

    @property
    def label(self) -> str:
        """The folder's or the file's name."""
        return files.title(self._path) if self.path else self.name

    @property
    def _path(self) -> Path:
        return expand(self.path)

    def load(self) -> TaskData:
        """Read the files.

        :raises DataError: a file is missing or malformed, columns are ambiguous, or labels don't make classes.
        """
        return self._load(challenge=False)

    def load_challenge(self) -> TaskData:
        """Read the files as a challenge set; see :meth:`Task.load_challenge`.

        :raises DataError: a file is missing or malformed, columns are ambiguous, or nothing is labelled.
        """
        return self._load(challenge=True)

    def _load(self, *, challenge: bool) -> TaskData:
        if not self.path:
            raise DataError("task `local` needs a path: pass a file or a folder with `--task PATH`")
        if len(set(self.labels)) < len(self.labels):
            raise DataError(f"labels: a label is declared twice in {', '.join(self.labels)}")
        found = files.find(self._path)
        if files.says_no_split(found) and (challenge or self.train_share is not None):
            found = {"test": next(iter(found.values()))}
        read = {split: tables.read(parts) for split, parts in found.items()}
        main = next(read[split] for split in ("train", "validation", "test") if split in read)
        chosen = columns.choose(main, self.text_columns, self.label_column)
        chosen = subsets.complete(chosen, list(read.values()), self.subset_columns, self.id_column)
        dropped: Counter[str] = Counter()
        splits = usable_splits(read, chosen, dropped, self.labels)
        if "train" not in splits and len(splits) > 1 and not challenge:
            raise DataError(f"{self.path}: there is no training split beside {' and '.join(splits)}; name a file train, or pass one file")
        if chosen.id:
            check_ids(self.path, chosen.id, splits)
        return assemble(
            self.label,
            chosen.texts,
            splits,
            source=self.path,
            declared=self.labels,
            subsets=chosen.subsets,
            train_rows=self.train_rows,
            train_share=self.train_share,
            challenge=challenge,
            dropped=dropped,
        )
