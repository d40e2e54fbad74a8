"""Exports adversarial examples as a data set: a file that can be used as a task, with the provenance of each text."""

from __future__ import annotations

import contextlib
import csv
import importlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.attacks.results import record_file
from ticketlab.attacks.results.adversarial_examples import PLAIN_NAMES, AdversarialDataset, AdversarialExample, collect
from ticketlab.core import files
from ticketlab.core.errors import DataError, UsageError
from ticketlab.tasks.reading import columns as choosing
from ticketlab.tasks.reading import tables
from ticketlab.tasks.reading.columns import LABELS
from ticketlab.tasks.reading.split_column import PROVENANCE
from ticketlab.tasks.reading.tables import Table

SUFFIXES = (".csv", ".jsonl", ".parquet")
FACTS = ("attack", "model", PROVENANCE)
"""Columns with the provenance of a text, in addition to its id."""


def write(data: AdversarialDataset, out: Path) -> tuple[str, ...]:
    """Write a csv, jsonl or parquet file that can be used as a task; return the names of its text columns.

    These are the original names if they identify the columns as texts, otherwise ``text``, or ``text1`` and ``text2``.

    :raises UsageError: the kind of file is not supported, there is nothing to write, or a file with other content exists.
    """
    check_kind(out)
    if not data.texts:
        raise UsageError("no text fooled the model: there is nothing to write")
    names = _readable_names(data)
    rows = list(_rows(data, names))
    files.write_new(out, lambda path: _WRITERS[out.suffix.lower()](rows, path))
    return names


def check_kind(out: Path) -> None:
    """Check that the suffix of a file is supported.

    :raises UsageError: it is not.
    """
    if out.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{out}: the name must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")


def read(path: Path) -> AdversarialDataset:
    """Read the adversarial examples of a file of records, or of a data set that :func:`write` wrote; both may have been edited.

    :raises UsageError: it is neither, or not a file.
    :raises DataError: the file is malformed.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    if record_file.is_records(path):
        return collect([path])
    table = tables.read_table([path]) if path.suffix.lower() in SUFFIXES else Table(str(path), (), ())
    if not {"id", *FACTS} <= set(table.columns):
        raise UsageError(f"{path}: neither a file of attack records nor a data set that `ticketlab attack export` wrote")
    chosen = choosing.infer_columns(table)
    texts = tuple(_read_row(table, number, row, chosen) for number, row in enumerate(table.rows, start=1))
    return AdversarialDataset(chosen.texts, texts, sources=(path,))


def _read_row(table: Table, number: int, row: Mapping[str, Any], columns: choosing.Columns) -> AdversarialExample:
    values = {name: row.get(name) for name in ("id", *columns.texts, columns.label, *FACTS)}
    missing = [name for name, value in values.items() if not isinstance(value, str)]
    if missing:
        raise DataError(f"{table.source} row {number}: `{missing[0]}` must be a text, not {values[missing[0]]!r}")
    identity = str(values["id"])
    original = identity.partition("/")[2]
    facts: dict[str, Any] = {name: str(values[name]) for name in FACTS}
    return AdversarialExample(identity, original, tuple(str(values[name]) for name in columns.texts), str(values[columns.label]), **facts)


def _rows(data: AdversarialDataset, names: Sequence[str]) -> Iterator[dict[str, str]]:
    label = _label_column(names)
    for example in data.texts:
        texts = dict(zip(names, example.texts, strict=True))
        row = {"id": example.id, **texts, label: example.label, **{name: getattr(example, name) for name in FACTS}}
        yield {name: value.encode("utf-8", "replace").decode() for name, value in row.items()}


def _readable_names(data: AdversarialDataset) -> tuple[str, ...]:
    """Return names for the text columns with which the columns of the file are inferred correctly."""
    own = data.columns
    label = _label_column(own)
    if not {"id", *FACTS, label} & set(own):
        names = ("id", *own, label, *FACTS)
        table = Table("", names, [dict(zip(("id", *own), (example.id, *example.texts), strict=True)) for example in data.texts])
        try:
            if choosing.infer_columns(table) == choosing.Columns(own, label):
                return own
        except DataError:
            pass
    return PLAIN_NAMES.get(len(own), own)


def _label_column(names: Iterable[str]) -> str:
    taken = {name.lower() for name in names}
    return next(name for name in LABELS if name not in taken)


def _write_csv(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    with path.open("wb") as file, _hub_dataset(rows) as dataset:
        dataset.to_csv(file, index=False, quoting=csv.QUOTE_ALL)  # or else a text with a lone carriage return could not be read again


def _write_jsonl(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    """Write one row per line, without ``Dataset.to_json``, which would escape the slash in every id."""
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def _write_parquet(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    with path.open("wb") as file, _hub_dataset(rows) as dataset:
        dataset.to_parquet(file)


@contextlib.contextmanager
def _hub_dataset(rows: Sequence[Mapping[str, str]]) -> Iterator[Any]:
    """Return the rows as a ``datasets.Dataset``, whose progress bars are disabled during the block."""
    datasets: Any = importlib.import_module("datasets")  # takes a second, and has no types
    were_disabled = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield datasets.Dataset.from_list(list(rows))
    finally:
        if not were_disabled:
            datasets.enable_progress_bars()


_WRITERS = {".csv": _write_csv, ".jsonl": _write_jsonl, ".parquet": _write_parquet}
