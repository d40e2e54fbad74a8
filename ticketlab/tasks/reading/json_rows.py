"""Parses JSON files into rows: one object per line, an array of objects, or one of the table formats of pandas."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted
from ticketlab.tasks.reading.content import BYTE_ORDER_MARK, ParsedFile

_Items = Iterable[tuple[str, Any]]
"""Objects, each with its location for messages."""
_DECODE_ERRORS = (ValueError, RecursionError)
"""Exceptions raised by decoding."""
_NON_SPACE = re.compile(r"\S")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MAX_INT_DIGITS, _MAX_DIGITS = 18, 100
"""Maximum digits of integers that are read as numbers, and of those that are accepted: longer ones may exceed 64 bits and stay strings."""


def read(file: Path, text: str) -> ParsedFile:
    """Return the rows of a file.

    :raises DataError: it is malformed (the message contains the line), or not a table.
    """
    items, notices = _items(file, text)
    if _SURROGATE.search(text):
        items = ((where, _clean(item)) for where, item in items)
    return _rows(file, items, notices)


def looks_like_json(text: str) -> bool:
    """Return whether the text begins like a JSON file: with a complete object or list on the first line, or only an opening bracket."""
    first, _, _ = text.lstrip().partition("\n")
    return first.strip() in ("{", "[") or (first[:1] in ("{", "[") and _is_json(first))


def _parse_int(digits: str) -> int | str:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else digits


def _parse_float(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits


def _parse_constant(name: str) -> float | str:
    return math.nan if name == "NaN" else name


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"an object has the key `{next(name for name in names if names.count(name) > 1)}` twice")
    return found


_DECODER = json.JSONDecoder(parse_int=_parse_int, parse_float=_parse_float, parse_constant=_parse_constant, object_pairs_hook=_parse_object)


def _items(file: Path, text: str) -> tuple[_Items, tuple[str, ...]]:
    if not text.lstrip().startswith("["):
        lines = _lines(text)
        first, second = next(lines, None), next(lines, None)
        if first is None:
            return (), ()
        if second is not None and _is_json(first[1]):
            return ((f"line {number}", _decoded(file, line, number)) for number, line in _lines(text)), ()
    try:
        document = _DECODER.decode(text.rstrip())
    except _DECODE_ERRORS as problem:
        if getattr(problem, "msg", "") != "Extra data":
            raise _malformed(file, problem) from None
        return _stream(file, text), ()
    if isinstance(document, list):
        return ((f"item {number}", item) for number, item in enumerate(document, 1)), ()
    return _table(file, document) if isinstance(document, dict) else ([("line 1", document)], ())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, without the byte-order mark of a file that was appended, and their numbers."""
    return ((number, line.lstrip(BYTE_ORDER_MARK)) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _is_json(line: str) -> bool:
    try:
        _DECODER.decode(line)
    except _DECODE_ERRORS:
        return False
    return True


def _decoded(file: Path, line: str, number: int) -> Any:
    try:
        return _DECODER.decode(line)
    except _DECODE_ERRORS as problem:
        raise _malformed(file, problem, number) from None


def _stream(file: Path, text: str) -> Iterator[tuple[str, Any]]:
    """Yield concatenated objects that span several lines each, as ``jq`` prints them."""
    place, number = 0, 1
    while match := _NON_SPACE.search(text, place):
        try:
            item, place = _DECODER.raw_decode(text, match.start())
        except _DECODE_ERRORS as problem:
            raise _malformed(file, problem) from None
        yield f"object {number}", item
        number += 1


def _malformed(file: Path, problem: Exception, line: int = 1) -> DataError:
    if isinstance(problem, RecursionError):
        return DataError(f"{file} line {line}: malformed: lists or objects are nested too deeply")
    if not isinstance(problem, json.JSONDecodeError):
        return DataError(f"{file} line {line}: malformed: {problem}")
    hint = "; is it a csv file?" if not problem.doc[: problem.pos].strip() and line == 1 else ""
    return DataError(f"{file} line {line + problem.lineno - 1}: malformed: {describe_json_error(problem)}{hint}")


def describe_json_error(problem: Exception) -> str:
    """Describe why a string is not valid JSON, worded for the middle of a message."""
    if not isinstance(problem, json.JSONDecodeError):
        return str(problem)
    message = problem.msg.removesuffix(" at").removesuffix(" starting")
    return f"{message[:1].lower()}{message[1:]} at column {problem.colno}"


def _table(file: Path, document: Mapping[str, Any]) -> tuple[_Items, tuple[str, ...]]:
    """Return the rows of a file that consists of one object."""
    lists = {name: value for name, value in document.items() if isinstance(value, list)}
    if set(document) - {"index"} == {"columns", "data"} and len(lists) == len(document):
        return _split(file, document["columns"], document["data"]), ()
    of_objects = [name for name, value in lists.items() if value and all(isinstance(item, dict) for item in value)]
    if len(of_objects) > 1:
        names = ", ".join(f"`{name}`" for name in of_objects)
        raise DataError(f"{file}: it contains several lists: {names}; write each to a separate file, named after its split")
    if of_objects:
        (name,) = of_objects
        items = ((f"item {number} of `{name}`", item) for number, item in enumerate(lists[name], 1))
        return items, (f"the rows are read from `{name}`",)
    if lists and len(lists) == len(document):
        return _columns(file, lists), ()
    if document and all(isinstance(value, dict) for value in document.values()):
        return _indexed(file, document), ()
    return [("line 1", document)], ()


def _split(file: Path, names: Any, data: Any) -> _Items:
    """Return the rows of pandas' ``orient="split"``."""
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise DataError(f"{file}: `columns` must be a list of distinct names")
    for number, values in enumerate(data, 1):
        if not isinstance(values, list) or len(values) != len(names):
            raise DataError(f"{file} item {number} of `data`: must be a list of {counted(len(names), 'value')}, one per column")
    return ((f"item {number} of `data`", dict(zip(names, values, strict=True))) for number, values in enumerate(data, 1))


def _columns(file: Path, columns: Mapping[str, Sequence[Any]]) -> _Items:
    """Return the rows of an object with a list for each column."""
    if len(sizes := {name: len(values) for name, values in columns.items()}) and len(set(sizes.values())) > 1:
        raise DataError(f"{file}: its columns differ in length: {', '.join(f'`{name}` {size}' for name, size in sizes.items())}")
    rows = zip(*columns.values(), strict=True)
    return ((f"item {number}", dict(zip(columns, values, strict=True))) for number, values in enumerate(rows, 1))


def _indexed(file: Path, document: Mapping[str, Mapping[str, Any]]) -> _Items:
    """Return the rows of pandas' ``orient="columns"`` (an object for each column) or ``orient="index"`` (an object for each row)."""
    inner = list(dict.fromkeys(name for value in document.values() for name in value))
    by_row, by_column = _are_numbers(document), _are_numbers(inner)
    if by_row == by_column:  # the row names are not numbers: assume more rows than columns
        by_row, by_column = len(document) > len(inner), len(document) < len(inner)
    if by_row:
        return ((f"item `{name}`", row) for name, row in document.items())
    if by_column:
        return ((f"item `{row}`", {name: values.get(row) for name, values in document.items()}) for row in inner)
    raise DataError(f"{file}: its rows and columns cannot be told apart; write one object per line")


def _are_numbers(names: Iterable[str]) -> bool:
    return all(name.isdecimal() for name in names)


def _rows(file: Path, items: _Items, notices: tuple[str, ...]) -> ParsedFile:
    columns: dict[str, None] = {}
    rows = []
    for where, item in items:
        if not isinstance(item, dict):
            raise DataError(f"{file} {where}: must be a JSON object, not {type(item).__name__}")
        columns.update(dict.fromkeys(item))
        rows.append(item)
    return ParsedFile(list(columns), rows, notices)


def _clean(value: Any) -> Any:
    """Replace lone surrogates in a value, which cannot be written to files or terminals."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return {_clean(name): _clean(item) for name, item in value.items()} if isinstance(value, dict) else value
