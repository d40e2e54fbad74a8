"""Plain text without labels: paragraphs of a file, of a folder of splits, or of a data set of the hub."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from ticketlab.core.errors import DataError
from ticketlab.core.files import expand
from ticketlab.core.formatting import counted
from ticketlab.tasks.assembly.assemble import fingerprint
from ticketlab.tasks.base import Example
from ticketlab.tasks.datasets import hub_names
from ticketlab.tasks.datasets.hub_fetch import fetch
from ticketlab.tasks.reading import columns, file_kinds, files, tables
from ticketlab.tasks.reading.rows import text_of
from ticketlab.tasks.reading.split_column import SETTING, divide
from ticketlab.tasks.reading.splits import hold_out
from ticketlab.tasks.reading.tables import Table
from ticketlab.tasks.reading.text_equality import canonical, compare, is_empty

SPLITS = ("train", "validation")
COLUMN = "STAGE.objective.text_column"
SPLIT_COLUMN = f"--set STAGE.objective.{SETTING}"
KINDS = (
    "a .txt file with a paragraph a line, a csv, tsv, jsonl or parquet file, a folder with train and validation files, or a hub data set"
)


@frozen
class Texts:
    """Paragraphs to learn from and to measure on. ``dropped`` counts the rows left out, by reason; ``notices`` tell of a split column."""

    train: Sequence[Example]
    dev: Sequence[Example]
    dropped: Mapping[str, int]
    notices: Sequence[str] = ()

    @property
    def fingerprint(self) -> str:
        """The sha256 of all the text."""
        return fingerprint(("text",), (), {"train": self.train, "dev": self.dev})


def read(place: str, config: str | None = None, column: str | None = None, split_column: str | None = "") -> Texts:
    """Read the paragraphs of a file, folder or hub data set. Without a validation split, a tenth (by hash of the id) is for development.

    A column whose values are names of splits divides the rows of a file, as it does those of a task; the test split is left out.
    ``column`` is inferred where only one reading is possible.

    :raises DataError: nothing there, nothing readable, an ambiguous column, or no paragraph to learn from or to measure on.
    """
    return _settle(_local(place), column, split_column) if is_local(place) else _on_hub(place, config, column, split_column)


def is_local(place: str) -> bool:
    """Say whether a place means a file or folder rather than a data set of the hub.

    :raises DataError: it is empty.
    """
    if not place.strip():
        raise DataError(f"objective.text: masked language modelling needs a text: {KINDS} (`--text`)")
    path = expand(place)
    return path.exists() or file_kinds.is_known(path) or hub_names.parse(place, owner=False) is None


def found(place: str) -> Mapping[str, Sequence[Path]]:
    """Return the local files of each split that is read. Raises as :func:`read`."""
    splits = {split: parts for split, parts in files.find(expand(place), prose=True).splits.items() if split in SPLITS}
    if "train" not in splits:
        raise DataError(f"{place}: there is no text to learn from; name a file train, or pass one file")
    return splits


def _local(place: str) -> dict[str, Table]:
    return {split: tables.read(parts, prose=True) for split, parts in found(place).items()}


@functools.lru_cache(maxsize=2)
def _on_hub(place: str, config: str | None, column: str | None, split_column: str | None) -> Texts:
    name = hub_names.parse(place, owner=False)
    assert name
    if config and name.config and config != name.config:
        raise DataError(f"objective.text: {place} names the configuration `{name.config}`, and objective.config is {config}; write one")
    name = evolve(name, config=name.config or config)
    who = f"objective.text: no file or folder is called {place}"
    data = fetch(name.dataset, name.config, None, who=who, instead="a local text", revision=name.revision)
    splits = {
        split: Table(f"{name} {split}", tuple(data[split].column_names), data[split].to_list())
        for split in SPLITS
        if split in data and len(data[split])
    }
    if "train" not in splits:
        raise DataError(f"objective.text: {name} has no training split ({', '.join(data)}); pass a local copy")
    return _settle(splits, column, split_column)


def _settle(read: Mapping[str, Table], asked: str | None, split_column: str | None) -> Texts:
    source, taken = read["train"].source, () if asked is None else (asked,)
    division = divide(read, split_column, named=len(read) > 1, taken=taken, way=SPLIT_COLUMN)
    splits = {split: table for split, table in division.tables.items() if split in SPLITS}
    if "train" not in splits:
        raise DataError(f"{source}: there is no text to learn from, as no row is of the split train; {SPLIT_COLUMN}=none learns from all")
    column = columns.choose_text(splits["train"], asked, flag=COLUMN)
    dropped = Counter({f"{split} split": len(table.rows) for split, table in division.tables.items() if split not in SPLITS})
    paragraphs = {split: _paragraphs(table, split, column, dropped) for split, table in splits.items()}
    train = paragraphs["train"]
    equal = compare({one.id: tuple(map(canonical, one.texts)) for one in train})
    train, dev = (train, paragraphs["validation"]) if "validation" in paragraphs else hold_out(train, equal.same) if train else ([], [])
    if not train or not dev:
        different = len(set(map(equal.key, equal.texts)))
        counts = f"{len(train)} to learn from and {len(dev)} to measure on, {dropped['empty']} empty; {counted(different, 'different one')}"
        raise DataError(f"{source}: there are too few paragraphs in `{column}` ({counts})")
    return Texts(train, dev, dropped, (*division.notices, *division.warnings))


def _paragraphs(table: Table, split: str, column: str, dropped: Counter[str]) -> list[Example]:
    if column not in table.columns:
        raise DataError(f"{table.source}: there is no column `{column}`, which another split has")
    paragraphs = []
    for number, row in enumerate(table.rows):
        try:
            text = text_of(row.get(column))
        except TypeError as problem:
            raise DataError(f"{table.source} row {number + 1}: {problem}") from None
        if text and not is_empty(text):
            paragraphs.append(Example(f"{split}-{number}", (text,), 0))
        else:
            dropped["empty"] += 1
    return paragraphs
