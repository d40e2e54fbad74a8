"""All numbers of a comparison as a csv or parquet file in long form (:mod:`ticketlab.report.numbers_table`)."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.report.cells import Comparison
from ticketlab.report.csv_text import csv_cell
from ticketlab.report.numbers_table import COLUMNS, Line, number_lines, setting_columns

PARQUET = ".parquet"
NAME_ANOTHER = "name another file, or remove it"


def write_numbers(comparison: Comparison, path: str | Path) -> None:
    """Write the numbers to a file, atomically: parquet if its name ends in .parquet, otherwise csv.

    Only a file with numbers of the same runs is overwritten. In csv, text that a spreadsheet would take for a formula has an apostrophe
    before it (:func:`~ticketlab.report.csv_text.csv_cell`).

    :raises UsageError: the file cannot be written, or is not a file with numbers of the same runs.
    """
    path = files.expand(path)
    check_numbers_path(path)
    check_runs(path, {cell.folder.name for cell, _ in comparison.finished})
    columns = [*COLUMNS, *setting_columns(comparison)]
    if _is_parquet(path):
        _write_parquet(columns, list(number_lines(comparison)), path)
    else:
        files.write_text(path, _csv_text(columns, number_lines(comparison)))


def check_numbers_path(path: str | Path) -> None:
    """Check that a file can be written: its folder is writable or can be created, and no file of another kind would be overwritten.

    :raises UsageError: it cannot.
    """
    path = files.expand(path)
    files.check_writable(path)
    if has_content(path) and _first_columns(path) != [*COLUMNS]:
        raise UsageError(f"{path}: the file exists and does not hold numbers written by this version of ticketlab; {NAME_ANOTHER}")


def has_content(path: str | Path) -> bool:
    """Return whether the file exists and is not empty."""
    path = files.expand(path)
    return path.is_file() and path.stat().st_size > 0


def check_runs(path: str | Path, runs: Collection[str]) -> None:
    """Check that an existing file holds numbers of these runs only, since it is about to be overwritten.

    :raises UsageError: it holds numbers of another run, or is damaged.
    """
    path = files.expand(path)
    if not has_content(path):
        return
    known = {csv_cell(run) for run in runs} | set(runs)
    others = [run for run in _runs_in(path) if run not in known]
    if others:
        raise UsageError(f"{path}: the file exists and holds the numbers of another run ({others[0] or 'unknown'}); {NAME_ANOTHER}")


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == PARQUET


def _first_columns(path: Path) -> list[str]:
    """Return as many columns of an existing file as every file of numbers has, or fewer."""
    try:
        if _is_parquet(path):
            return list(_parquet().read_schema(path).names[: len(COLUMNS)])
        with path.open("rb") as file:
            head = file.read(len(",".join(COLUMNS)) + 1).decode("utf-8", errors="replace")
        return head.rstrip("\r\n").removesuffix(",").split(",")
    except (OSError, ValueError):  # pyarrow's errors are of these two
        return []


def _runs_in(path: Path) -> list[str]:
    """Return the names of the runs whose numbers are in a file."""
    try:
        if _is_parquet(path):
            return [str(run) for run in _parquet().read_table(path, columns=["run"]).column(0).unique().to_pylist()]
        with path.open(encoding="utf-8", newline="", errors="replace") as file:
            return list(dict.fromkeys(line.get("run") or "" for line in csv.DictReader(file)))
    except (OSError, ValueError, csv.Error) as problem:
        raise UsageError(f"{path}: the file exists and is damaged ({problem}); {NAME_ANOTHER}") from None


def _csv_text(columns: Sequence[str], lines: Iterable[Line]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(csv_cell(column) for column in columns)
    writer.writerows([csv_cell(line.get(column)) for column in columns] for line in lines)
    return text.getvalue()


def _write_parquet(columns: Sequence[str], lines: Sequence[Line], path: Path) -> None:
    arrow: Any = importlib.import_module("pyarrow")  # has no types
    types = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
    arrays = {}
    for column in columns:
        values = [line.get(column) for line in lines]
        kind = COLUMNS.get(column) or _kind(values)
        arrays[column] = arrow.array([str(value) if kind is str and value is not None else value for value in values], types[kind])
    files.write_atomic(path, lambda written: _parquet().write_table(arrow.table(arrays), written))


def _kind(values: Iterable[Any]) -> type:
    """Return the type of a column of levels or settings: numbers if all are numbers, otherwise text."""
    kinds = {type(value) for value in values if value is not None}
    return int if kinds == {int} else float if kinds and kinds <= {int, float} else str


def _parquet() -> Any:
    return importlib.import_module("pyarrow.parquet")
