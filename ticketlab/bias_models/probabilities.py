"""Files of bias probabilities: one row per example, matched by id and never by position."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ticketlab.core import files
from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.tasks.base import Example
from ticketlab.tasks.reading import tables
from ticketlab.tasks.reading.file_kinds import SUFFIXES
from ticketlab.tasks.reading.files import find_files
from ticketlab.tasks.reading.labels import quote_some
from ticketlab.tasks.reading.rows import value_of

ID = "id"
FLOOR = 1e-6
"""Probabilities are clipped to at least this before taking the logarithm."""
TOLERANCE = 1e-3
"""The largest difference from 1 of a row's sum. Each row is divided by its sum."""


def write(path: Path, examples: Sequence[Example], probabilities: Iterable[Sequence[float]], label_names: Sequence[str]) -> None:
    """Write one JSON line per example, atomically: its id and the probability of each label by name. Floats are written exactly.

    :raises DataError: a label is called ``id``.
    """
    _refuse_id(label_names)

    def lines(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            for example, row in zip(examples, probabilities, strict=True):
                values = {ID: example.id, **{name: float(value) for name, value in zip(label_names, row, strict=True)}}
                file.write(json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n")

    files.write_atomic(path, lines)


def read(path: str | Path, examples: Sequence[Example], label_names: Sequence[str]) -> Tensor:
    """Return log-probabilities (examples, labels) in float32, in the order of the examples and of the label names.

    The file is a csv, tsv, jsonl, json or parquet table with a column ``id`` and a column per label, named as the label. Rows with other
    ids and other columns are ignored.

    :raises DataError: a label or an example is missing, an id is repeated, or a value is not a probability.
    """
    path = files.expand(path)
    _refuse_id(label_names)
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; bias probabilities are in a {', '.join(SUFFIXES)} file")
    find_files(path)
    table = tables.read_table([path])
    _check_columns(path, table.columns, label_names)
    rows = _by_id(path, table.rows)
    _check_ids(path, rows, examples)
    values = [[_number(path, example.id, name, rows[example.id].get(name)) for name in label_names] for example in examples]
    probabilities = torch.tensor(values, dtype=torch.float64).reshape(len(examples), len(label_names))
    sums = probabilities.sum(dim=1, keepdim=True)
    wrong = ((sums - 1).abs() > TOLERANCE).flatten().nonzero().flatten().tolist()
    if wrong:
        first = f"`{examples[wrong[0]].id}`, which adds up to {float(sums[wrong[0]]):g}"
        raise DataError(f"{path}: the probabilities of {len(wrong)} of {len(examples)} ids do not add up to 1; the first is {first}")
    return (probabilities / sums).clamp(min=FLOOR).log().float()


def _refuse_id(label_names: Sequence[str]) -> None:
    if ID in label_names:
        raise DataError(f"a label is called `{ID}`, which is the column of ids in a file of bias probabilities; rename the label")


def _check_columns(path: Path, columns: Sequence[str], label_names: Sequence[str]) -> None:
    if ID not in columns:
        raise DataError(f"{path}: there is no column `{ID}`{did_you_mean(ID, columns)}; it matches rows to examples")
    missing = [name for name in label_names if name not in columns]
    if missing:
        others = [column for column in columns if column != ID and column not in label_names]
        raise DataError(
            f"{path}: there is no column `{missing[0]}`{did_you_mean(missing[0], others)}; every label of the task needs a column "
            f"of its name: {quote_some(label_names)}"
        )


def _by_id(path: Path, rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    by_id: dict[str, Mapping[str, Any]] = {}
    repeated = 0
    first = ""
    for number, row in enumerate(rows, 1):
        try:
            name = value_of(row.get(ID), "an id")
        except TypeError:
            name = ""
        if not name.strip():
            raise DataError(f"{path} row {number}: the `{ID}` must be a text or a number, not {_shown(row.get(ID))}")
        if name in by_id:
            repeated, first = repeated + 1, first or name
        by_id[name] = row
    if repeated:
        raise DataError(f"{path}: {repeated} of {len(rows)} rows have the id of another row; the first is `{first}`")
    return by_id


def _check_ids(path: Path, rows: Mapping[str, Any], examples: Sequence[Example]) -> None:
    missing = [example.id for example in examples if example.id not in rows]
    if not missing:
        return
    if len(missing) == len(examples):
        sides = f"those of the examples are like `{missing[0]}`, those of the file like `{next(iter(rows))}`"
        raise DataError(f"{path}: none of the {len(examples)} ids is in the file; {sides}")
    raise DataError(f"{path}: {len(missing)} of {len(examples)} ids are not in the file; the first is `{missing[0]}`")


def _number(path: Path, identity: str, name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{path}: `{name}` of `{identity}` is {_shown(value)}, which is not a number")
    if number < 0:
        raise DataError(f"{path}: `{name}` of `{identity}` is {_shown(value)}, and a probability is never negative")
    return number


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}..."
