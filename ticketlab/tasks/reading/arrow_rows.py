"""Parses parquet and arrow files into rows, with the label names that the ``datasets`` library stores in them."""

from __future__ import annotations

import decimal
import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.content import ParsedFile
from ticketlab.tasks.reading.header import is_index

INFO_FILE = "dataset_info.json"
"""Written by the ``datasets`` library next to its files; it also contains the label names."""
_ARROW_FILE = b"ARROW1"


def read(file: Path, content: bytes, kind: str) -> ParsedFile:
    """Return the rows of a ``parquet`` or ``arrow`` file.

    :raises DataError: the file is malformed, or a label number has no label name.
    """
    arrow: Any = importlib.import_module("pyarrow")  # has no types
    try:
        table = _table(arrow, content, kind)
        table.validate(full=True)
    except (arrow.ArrowException, OSError, ValueError, KeyError) as problem:
        raise DataError(f"{file}: not {'a parquet' if kind == 'parquet' else 'an arrow'} file: {_oneline(problem)}") from None
    names, notices = _class_names(file, table.schema.metadata or {})
    return parse_table(file, table, names, notices)


def parse_table(source: Path | str, table: Any, class_names: Mapping[str, Sequence[str]], notices: Iterable[str] = ()) -> ParsedFile:
    """Return the rows of a ``pyarrow.Table`` with values as text, numbers, booleans, lists and objects.

    :raises DataError: two columns have the same name; a label number has no name in ``class_names``.
    """
    notices = list(notices)
    columns: dict[str, list[Any]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in columns:
            raise DataError(f"{source}: two columns are named `{name}`")
        values = _values(column)
        if name in class_names:
            values = _with_label_names(source, name, values, class_names[name])
        if is_index(name, [value for value in values if isinstance(value, int)]):
            notices.append(f"the column `{name}`, an index with repeated values, is ignored")
        else:
            columns[name] = values
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return ParsedFile(list(columns), rows, tuple(notices))


def _table(arrow: Any, content: bytes, kind: str) -> Any:
    buffer = arrow.BufferReader(content)
    if kind == "parquet":
        return importlib.import_module("pyarrow.parquet").read_table(buffer)
    opened = arrow.ipc.open_file(buffer) if content.startswith(_ARROW_FILE) else arrow.ipc.open_stream(buffer)
    return opened.read_all()


def _values(column: Any) -> list[Any]:
    """Return the values of a column as in a JSON file: dates as text, and bytes as text if they decode."""
    arrow: Any = importlib.import_module("pyarrow")
    types = arrow.types
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_temporal(kind):
        try:
            column = column.cast(arrow.string())
        except arrow.ArrowException:  # a time zone that this machine does not have, or an interval type
            return [None if value is None else str(value) for value in column.cast(arrow.int64()).to_pylist()]
    if types.is_float16(kind):
        column = column.cast(arrow.float32())
    values: list[Any] = column.to_pylist()
    if types.is_decimal(kind):
        return [_number(value) for value in values]
    if any(isinstance(value, bytes) for value in values):
        return [_decoded(value) for value in values]
    return values


def _number(value: decimal.Decimal | None) -> int | float | None:
    return None if value is None else int(value) if value == value.to_integral_value() else float(value)


def _decoded(value: bytes | None) -> Any:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value  # such as an image; it is rejected if used as a text or label


def _with_label_names(source: Path | str, column: str, values: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Replace label numbers by names; keep -1, which marks an unlabelled row."""
    for row, value in enumerate(values, 1):
        if isinstance(value, int) and not -1 <= value < len(names):
            raise DataError(f"{source} row {row}: `{column}` is {value}, but the file has {len(names)} label names")
    return [names[value] if isinstance(value, int) and value >= 0 else value for value in values]


def _class_names(file: Path, metadata: Mapping[bytes, bytes]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the label names by column as stored by the ``datasets`` library, and notices about unreadable ones."""
    info_file = file.with_name(INFO_FILE)
    try:
        if b"huggingface" in metadata:
            features = json.loads(metadata[b"huggingface"]).get("info", {}).get("features") or {}
        elif info_file.is_file():
            features = json.loads(info_file.read_bytes()).get("features") or {}
        else:
            return {}, []
        return class_names(features), []
    except (ValueError, LookupError, TypeError, AttributeError, OSError, RecursionError):
        return {}, ["the metadata of the datasets library is damaged: its label names are not used"]


def class_names(features: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the label names by column from the JSON of ``datasets.Features``.

    :raises TypeError: the label names are not lists of strings.
    """
    found = {name: feature["names"] for name, feature in features.items() if isinstance(feature, dict) and "names" in feature}
    for names in found.values():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError("label names must be strings")
    return found


def _oneline(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200]
