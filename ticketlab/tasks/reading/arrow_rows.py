"""Rows of parquet and arrow files, with the label names that the ``datasets`` library leaves in them."""

from __future__ import annotations

import decimal
import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.content import Parsed
from ticketlab.tasks.reading.header import is_index

INFO = "dataset_info.json"
"""What the ``datasets`` library writes beside its files; it has the label names too."""
_ARROW_FILE = b"ARROW1"


def read(file: Path, content: bytes, kind: str) -> Parsed:
    """Return the rows of a ``parquet`` or ``arrow`` file.

    :raises DataError: it is malformed, or a label has a number beyond the label names.
    """
    arrow: Any = importlib.import_module("pyarrow")  # has no types
    try:
        table = _table(arrow, content, kind)
        table.validate(full=True)
    except (arrow.ArrowException, OSError, ValueError, KeyError) as problem:
        raise DataError(f"{file}: not {'a parquet' if kind == 'parquet' else 'an arrow'} file: {_oneline(problem)}") from None
    names, notices = _class_names(file, table.schema.metadata or {})
    return parsed(file, table, names, notices)


def parsed(source: Path | str, table: Any, class_names: Mapping[str, Sequence[str]], notices: Iterable[str] = ()) -> Parsed:
    """Return the rows of a ``pyarrow.Table``, its values as text, numbers, booleans, lists and objects.

    :raises DataError: two columns have one name; a label has a number beyond ``class_names``.
    """
    notices = list(notices)
    columns: dict[str, list[Any]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in columns:
            raise DataError(f"{source}: two columns are named `{name}`")
        values = _values(column)
        if name in class_names:
            values = _named(source, name, values, class_names[name])
        if is_index(name, [value for value in values if isinstance(value, int)]):
            notices.append(f"the column `{name}`, an index that repeats, is left out")
        else:
            columns[name] = values
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return Parsed(list(columns), rows, tuple(notices))


def _table(arrow: Any, content: bytes, kind: str) -> Any:
    buffer = arrow.BufferReader(content)
    if kind == "parquet":
        return importlib.import_module("pyarrow.parquet").read_table(buffer)
    opened = arrow.ipc.open_file(buffer) if content.startswith(_ARROW_FILE) else arrow.ipc.open_stream(buffer)
    return opened.read_all()


def _values(column: Any) -> list[Any]:
    """Return the values of a column as a JSON file could have them: dates as text, bytes as the text that they are, if they are."""
    arrow: Any = importlib.import_module("pyarrow")
    types = arrow.types
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_temporal(kind):
        try:
            column = column.cast(arrow.string())
        except arrow.ArrowException:  # a time zone that this machine does not know, or a kind of interval
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
        return value  # an image, say; it is refused where it is to be a text or a label


def _named(source: Path | str, column: str, values: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return label names for their numbers; -1, which marks a row without label, stays."""
    for row, value in enumerate(values, 1):
        if isinstance(value, int) and not -1 <= value < len(names):
            raise DataError(f"{source} row {row}: `{column}` is {value}, and there are {len(names)} label names in the file")
    return [names[value] if isinstance(value, int) and value >= 0 else value for value in values]


def _class_names(file: Path, metadata: Mapping[bytes, bytes]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the label names that the ``datasets`` library left, by column, and what was wrong with them."""
    beside = file.with_name(INFO)
    try:
        if b"huggingface" in metadata:
            features = json.loads(metadata[b"huggingface"]).get("info", {}).get("features") or {}
        elif beside.is_file():
            features = json.loads(beside.read_bytes()).get("features") or {}
        else:
            return {}, []
        return class_names(features), []
    except (ValueError, LookupError, TypeError, AttributeError, OSError, RecursionError):
        return {}, ["the metadata of the datasets library in it is damaged: labels have no names from there"]


def class_names(features: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the label names among features, as JSON has them, by column.

    :raises TypeError: they are no such features.
    """
    found = {name: feature["names"] for name, feature in features.items() if isinstance(feature, dict) and "names" in feature}
    for names in found.values():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError("label names must be texts")
    return found


def _oneline(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200]
