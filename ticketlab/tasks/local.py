"""Local files as a task: csv, tsv, jsonl, json and parquet, one file or a folder of splits."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.errors import DataError
from ticketlab.files import expand
from ticketlab.options import setting
from ticketlab.tasks import columns, files, tables
from ticketlab.tasks.assemble import assemble
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.rows import Row, usable


def names(value: Any) -> Any:
    """Turn ``"premise,hypothesis"`` into a tuple; pass anything else through."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list) else value


@frozen
class Local(Task):
    """A data set in files. Columns are inferred where only one reading is possible; labels go by name.

    Splits come from the names of the files (train, validation or dev, test). A test split without labels counts as absent.
    """

    name: ClassVar[str] = "local"
    summary: ClassVar[str] = "a csv, tsv, jsonl or parquet file, or a folder of them"

    path: str = setting("", identity=False, help="the file or folder; results depend on what is in it, not on where it is")
    text_columns: tuple[str, ...] = setting((), converter=names, help="the column of the text, or the two of a pair; inferred if empty")
    label_column: str | None = setting(None, help="the column of the label; inferred if none")
    labels: tuple[str, ...] = setting((), converter=names, help="label names in order, others refused; as found, sorted, if empty")

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
        if not self.path:
            raise DataError("task `local` needs a path: pass a file or a folder with `--task PATH`")
        if len(set(self.labels)) < len(self.labels):
            raise DataError(f"labels: a label is declared twice in {', '.join(self.labels)}")
        read = {split: tables.read(found) for split, found in files.find(self._path).items()}
        main = next(read[split] for split in ("train", "validation", "test") if split in read)
        chosen = columns.choose(main, self.text_columns, self.label_column)
        dropped: Counter[str] = Counter()
        splits = {split: rows for split, table in read.items() if (rows := self._rows(table, chosen, split, dropped)) is not None}
        if "train" not in splits and len(splits) > 1:
            raise DataError(f"{self.path}: there is no training split beside {' and '.join(splits)}; name a file train, or pass one file")
        return assemble(
            self.label,
            chosen.texts,
            splits,
            source=self.path,
            declared=self.labels,
            train_rows=self.train_rows,
            dropped=dropped,
        )

    def _rows(self, table: tables.Table, chosen: columns.Columns, split: str, dropped: Counter[str]) -> list[Row] | None:
        """Return the usable rows; None for a test split that has no labels."""
        if split == "test" and chosen.label not in table.columns:
            return None
        here: Counter[str] = Counter()
        rows = usable(table, chosen, split, here, self.labels)
        if split == "test" and here["unlabelled"] == len(table.rows):
            return None
        dropped.update(here)
        return rows
