"""Data sets of texts that fooled a victim: files that are a task as they stand, and say what each text came from."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.attacks.results import records
from ticketlab.attacks.results.adversarial_examples import PLAIN_NAMES, Adversarial, Collection, collect
from ticketlab.core import files
from ticketlab.core.errors import DataError, UsageError
from ticketlab.tasks.reading import columns as choosing
from ticketlab.tasks.reading import tables
from ticketlab.tasks.reading.columns import LABELS
from ticketlab.tasks.reading.tables import Table

SUFFIXES = (".csv", ".jsonl", ".parquet")
FACTS = ("attack", "model", "taken_from")
"""Columns that say what a text came from, beside its id."""


def write(collection: Collection, out: Path) -> tuple[str, ...]:
    """Write a csv, jsonl or parquet file that is a task as it stands; return what its text columns are called.

    They have their own names where these tell what they are, and else ``text``, or ``text1`` and ``text2``.

    :raises UsageError: another kind of file is asked for, there is nothing to write, or a file that holds something else is there.
    """
    check_kind(out)
    if not collection.texts:
        raise UsageError("no text fooled the model: there is nothing to write")
    names = _readable_names(collection)
    rows = list(_rows(collection, names))
    files.write_new(out, lambda path: _WRITERS[out.suffix.lower()](rows, path))
    return names


def check_kind(out: Path) -> None:
    """Make sure that the name of a file says a kind that can be written.

    :raises UsageError: it does not.
    """
    if out.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{out}: name a file that ends in {', '.join(SUFFIXES)}")


def read(path: Path) -> Collection:
    """Return the texts of a file of records, or of a data set that :func:`write` left; both may have been edited.

    :raises UsageError: it is neither, or no file.
    :raises DataError: a file is malformed.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    if records.is_records(path):
        return collect([path])
    table = tables.read([path]) if path.suffix.lower() in SUFFIXES else Table(str(path), (), ())
    if not {"id", *FACTS} <= set(table.columns):
        raise UsageError(f"{path}: neither a file of attack records nor a data set that `ticketlab attack export` wrote")
    chosen = choosing.choose(table)
    texts = tuple(_read_row(table, number, row, chosen) for number, row in enumerate(table.rows, start=1))
    return Collection(chosen.texts, texts, sources=(path,))


def _read_row(table: Table, number: int, row: Mapping[str, Any], columns: choosing.Columns) -> Adversarial:
    values = {name: row.get(name) for name in ("id", *columns.texts, columns.label, *FACTS)}
    missing = [name for name, value in values.items() if not isinstance(value, str)]
    if missing:
        raise DataError(f"{table.source} row {number}: `{missing[0]}` must be a text, not {values[missing[0]]!r}")
    identity = str(values["id"])
    original = identity.partition("/")[2]
    facts: dict[str, Any] = {name: str(values[name]) for name in FACTS}
    return Adversarial(identity, original, tuple(str(values[name]) for name in columns.texts), str(values[columns.label]), **facts)


def _rows(collection: Collection, names: Sequence[str]) -> Iterator[dict[str, str]]:
    label = _label_column(names)
    for one in collection.texts:
        texts = dict(zip(names, one.texts, strict=True))
        row = {"id": one.id, **texts, label: one.label, **{name: getattr(one, name) for name in FACTS}}
        yield {name: value.encode("utf-8", "replace").decode() for name, value in row.items()}


def _readable_names(collection: Collection) -> tuple[str, ...]:
    """Return names under which the file is read as it was meant without being told."""
    own = collection.columns
    label = _label_column(own)
    if not {"id", *FACTS, label} & set(own):
        names = ("id", *own, label, *FACTS)
        table = Table("", names, [dict(zip(("id", *own), (one.id, *one.texts), strict=True)) for one in collection.texts])
        try:
            if choosing.choose(table) == choosing.Columns(own, label):
                return own
        except DataError:
            pass
    return PLAIN_NAMES.get(len(own), own)


def _label_column(names: Iterable[str]) -> str:
    taken = {name.lower() for name in names}
    return next(name for name in LABELS if name not in taken)


def _write_csv(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    path.write_bytes(text.getvalue().encode())


def _write_jsonl(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def _write_parquet(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    arrow: Any = importlib.import_module("pyarrow")  # has no types
    parquet: Any = importlib.import_module("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist(list(rows)), path)


_WRITERS = {".csv": _write_csv, ".jsonl": _write_jsonl, ".parquet": _write_parquet}
