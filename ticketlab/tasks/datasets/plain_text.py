"""Reads plain text without labels: paragraphs of a file, of a folder of splits, or of a data set of the hub."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from ticketlab.core.errors import DataError
from ticketlab.core.files import expand
from ticketlab.tasks.assembly.fingerprint import fingerprint
from ticketlab.tasks.base import Example
from ticketlab.tasks.datasets import hub_names
from ticketlab.tasks.datasets.hub_fetch import fetch
from ticketlab.tasks.reading import columns, file_kinds, files, tables
from ticketlab.tasks.reading.rows import text_of
from ticketlab.tasks.reading.split_column import SETTING, divide_rows
from ticketlab.tasks.reading.splits import hold_out
from ticketlab.tasks.reading.tables import Table
from ticketlab.tasks.reading.text_equality import canonical_text, group_equal_texts, is_empty

SPLITS = ("train", "validation")
COLUMN = "STAGE.objective.text_column"
SPLIT_COLUMN = f"--set STAGE.objective.{SETTING}"
KINDS = (
    "a .txt file with a paragraph per line, a csv, tsv, jsonl or parquet file, a folder with train and validation files, or a hub data set"
)


@frozen
class Paragraphs:
    """Paragraphs for training and evaluation. ``dropped`` counts dropped rows by reason; ``notices`` are about a split column."""

    train: Sequence[Example]
    dev: Sequence[Example]
    dropped: Mapping[str, int]
    notices: Sequence[str] = ()

    @property
    def fingerprint(self) -> str:
        """The sha256 of all the text."""
        return fingerprint(("text",), (), {"train": self.train, "dev": self.dev})


def read_paragraphs(place: str, config: str | None = None, column: str | None = None, split_column: str | None = "") -> Paragraphs:
    """Read the paragraphs of a file, folder or hub data set. Without a validation split, a tenth (by hash of the id) is held out.

    A column whose values are names of splits divides the rows of a file, as for a task; the test split is ignored. ``column`` is
    inferred if there is only one candidate.

    :raises DataError: there is nothing readable, the column is ambiguous, or there are too few paragraphs for training and evaluation.
    """
    return _make_paragraphs(_local(place), column, split_column) if is_local(place) else _on_hub(place, config, column, split_column)


def is_local(place: str) -> bool:
    """Return whether a place is a file or folder rather than a data set of the hub.

    :raises DataError: it is empty.
    """
    if not place.strip():
        raise DataError(f"objective.text: masked language modelling needs text: {KINDS} (`--text`)")
    path = expand(place)
    return path.exists() or file_kinds.has_known_suffix(path) or hub_names.parse(place, owner=False) is None


def find_text_files(place: str) -> Mapping[str, Sequence[Path]]:
    """Return the local files of the splits that are used. Raises the errors of :func:`read_paragraphs`."""
    splits = {split: parts for split, parts in files.find_files(expand(place), prose=True).splits.items() if split in SPLITS}
    if "train" not in splits:
        raise DataError(f"{place}: there is no training text; name a file train, or pass one file")
    return splits


def _local(place: str) -> dict[str, Table]:
    return {split: tables.read_table(parts, prose=True) for split, parts in find_text_files(place).items()}


@functools.lru_cache(maxsize=2)
def _on_hub(place: str, config: str | None, column: str | None, split_column: str | None) -> Paragraphs:
    name = hub_names.parse(place, owner=False)
    assert name
    if config and name.config and config != name.config:
        raise DataError(
            f"objective.text: {place} contains the configuration `{name.config}`, but objective.config is {config}; set only one"
        )
    name = evolve(name, config=name.config or config)
    source = f"objective.text: there is no file or folder {place}"
    data = fetch(name.dataset, name.config, None, source=source, alternative="a local text", revision=name.revision)
    splits = {
        split: Table(f"{name} {split}", tuple(data[split].column_names), data[split].to_list())
        for split in SPLITS
        if split in data and len(data[split])
    }
    if "train" not in splits:
        raise DataError(f"objective.text: {name} has no training split ({', '.join(data)}); pass a local copy")
    return _make_paragraphs(splits, column, split_column)


def _make_paragraphs(read: Mapping[str, Table], requested: str | None, split_column: str | None) -> Paragraphs:
    source, taken = read["train"].source, () if requested is None else (requested,)
    division = divide_rows(read, split_column, named=len(read) > 1, taken=taken, flag=SPLIT_COLUMN)
    splits = {split: table for split, table in division.tables.items() if split in SPLITS}
    if "train" not in splits:
        raise DataError(
            f"{source}: there is no training text, because no row belongs to the split train; use {SPLIT_COLUMN}=none to train on all rows"
        )
    column = columns.infer_text_column(splits["train"], requested, flag=COLUMN)
    dropped = Counter({f"{split} split": len(table.rows) for split, table in division.tables.items() if split not in SPLITS})
    paragraphs = {split: _paragraphs(table, split, column, dropped) for split, table in splits.items()}
    train = paragraphs["train"]
    equal = group_equal_texts({paragraph.id: tuple(map(canonical_text, paragraph.texts)) for paragraph in train})
    train, dev = (train, paragraphs["validation"]) if "validation" in paragraphs else hold_out(train, equal.same) if train else ([], [])
    if not train or not dev:
        different = len(set(map(equal.key, equal.texts)))
        counts = f"{len(train)} for training and {len(dev)} for evaluation, {dropped['empty']} empty, {different} different"
        raise DataError(f"{source}: there are too few paragraphs in `{column}` ({counts})")
    return Paragraphs(train, dev, dropped, (*division.notices, *division.warnings))


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
