"""Reads csv, tsv, jsonl, json, parquet and txt files as rows of named values, and says where a file is malformed.

Text is taken as it stands: the readers of pandas turn a review that says ``NA`` or ``null`` into a missing value.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.errors import DataError

_LONGEST_FIELD = 2**30


@frozen
class Table:
    """Rows of one split. ``source`` is what to call it in messages; a missing value is None or absent from its row."""

    source: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]


def read(files: Sequence[Path]) -> Table:
    """Read the files of one split into one table.

    :raises DataError: a file is malformed (the message has its name and line), or there is no row.
    """
    rows: list[Mapping[str, Any]] = []
    columns: dict[str, None] = {}
    for file in files:
        names, found = _READERS[file.suffix.lower()](file)
        columns.update(dict.fromkeys(names))
        rows.extend(found)
    source = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    if not rows:
        raise DataError(f"{source}: there are no rows")
    return Table(source, tuple(columns), rows)


_Rows = tuple[Sequence[str], Sequence[Mapping[str, Any]]]


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as problem:
        raise DataError(f"{file}: cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise DataError(f"{file} line {line}: not UTF-8; convert the file to UTF-8") from None


def _csv(file: Path) -> _Rows:
    text = _text(file)
    header = text.split("\n", 1)[0]
    delimiter = next((mark for mark in ",;\t" if mark in header), ",")
    return _checked(file, _records(file, text, delimiter, csv.QUOTE_MINIMAL))


def _tsv(file: Path) -> _Rows:
    text = _text(file)
    try:
        return _checked(file, _records(file, text, "\t", csv.QUOTE_MINIMAL))
    except DataError:  # the files of GLUE have quotation marks that quote nothing
        return _checked(file, _records(file, text, "\t", csv.QUOTE_NONE))


def _records(file: Path, text: str, delimiter: str, quoting: Any) -> Iterator[tuple[int, list[str]]]:
    limit = csv.field_size_limit(_LONGEST_FIELD)
    start = 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting, strict=True)
    try:
        for fields in reader:
            yield start, fields
            start = reader.line_num + 1
    except csv.Error as problem:
        raise DataError(f"{file} line {start}: malformed: {problem}") from None
    finally:
        csv.field_size_limit(limit)


def _checked(file: Path, records: Iterator[tuple[int, list[str]]]) -> _Rows:
    _, header = next(records, (1, []))
    names = [name.strip() for name in header]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{file} line 1: two columns are named `{twice}`; the first line must name the columns")
    rows = []
    for line, fields in records:
        if not fields:
            continue
        if len(fields) != len(names):
            raise DataError(f"{file} line {line}: malformed: {len(fields)} fields under {len(names)} columns")
        rows.append(dict(zip(names, fields, strict=True)))
    return names, rows


def _json(file: Path) -> _Rows:
    text = _text(file)
    if text.lstrip().startswith("["):
        try:
            items = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise DataError(f"{file} line {getattr(problem, 'lineno', 1)}: malformed: {getattr(problem, 'msg', problem)}") from None
        return _objects(file, ((f"item {number}", item) for number, item in enumerate(items, 1)))
    return _objects(file, _json_lines(file, text))


def _json_lines(file: Path, text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise DataError(f"{file} line {number}: malformed: {getattr(problem, 'msg', problem)}") from None


def _objects(file: Path, items: Iterator[tuple[str, Any]]) -> _Rows:
    columns: dict[str, None] = {}
    rows = []
    for where, item in items:
        if not isinstance(item, dict):
            raise DataError(f"{file} {where}: must be a JSON object, not {type(item).__name__}")
        columns.update(dict.fromkeys(item))
        rows.append(item)
    return list(columns), rows


def _parquet(file: Path) -> _Rows:
    parquet: Any = importlib.import_module("pyarrow.parquet")  # has no types
    try:
        table = parquet.read_table(file)
    except (OSError, ValueError) as problem:  # pyarrow's errors are among these
        raise DataError(f"{file}: not a parquet file: {' '.join(str(problem).split())}") from None
    rows: list[dict[str, Any]] = table.to_pylist()
    for column, names in _class_names(table.schema.metadata or {}).items():
        for row in rows:
            value = row.get(column)
            row[column] = names[value] if isinstance(value, int) and 0 <= value < len(names) else value
    return table.column_names, rows


def _class_names(metadata: Mapping[bytes, bytes]) -> Mapping[str, list[str]]:
    """Return the label names that the ``datasets`` library leaves in the files it writes."""
    features = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    return {name: feature["names"] for name, feature in features.items() if isinstance(feature, dict) and "names" in feature}


def _lines(file: Path) -> _Rows:
    lines = _text(file).split("\n")
    return ["text"], [{"text": line} for line in (lines if lines[-1] else lines[:-1])]  # a newline ends the last line


_READERS = {".csv": _csv, ".tsv": _tsv, ".jsonl": _json, ".json": _json, ".parquet": _parquet, ".txt": _lines}
