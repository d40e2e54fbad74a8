"""Levels of factors: parses ``--vary KEY=v1,v2`` and ranges, and names levels."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core.component import Component
from ticketlab.core.errors import UsageError
from ticketlab.core.settings import component_table
from ticketlab.tasks.base import Task

ZIP = "+"
"""Joins the keys of a factor that varies several settings together, and the values of its levels."""
MAX_LEVELS = 10_000


@frozen
class Level:
    """A level of a factor: its label, and the value of each key that it sets.

    ``unavailable`` is why it cannot be computed, if so. ``plugin`` is the name of the plugin that it needs, if any.
    """

    label: str
    settings: Mapping[str, Any]
    unavailable: str = ""
    plugin: str = ""


@frozen
class FactorLevels:
    """A factor with its levels."""

    name: str
    levels: tuple[Level, ...]

    @property
    def keys(self) -> list[str]:
        """The keys that the levels set."""
        return list(dict.fromkeys(key for level in self.levels for key in level.settings))


def parse_vary(text: str) -> FactorLevels:
    """Return the factor of ``KEY=v1,v2``, ``KEY=0.1:0.9:0.1``, or ``KEY+KEY=v1+w1,v2+w2``.

    Commas inside quotes, brackets and braces do not separate values.

    :raises UsageError: there is no key, no value, a value twice (also as ``0.1`` and ``0.10``), or a range that is empty, too long or
        without a step.
    """
    keys, equals, values = text.partition("=")
    if not equals or not keys.strip() or not values.strip():
        raise UsageError(f"--vary {text}: write KEY=VALUE,VALUE,... such as sparsity=0.1,0.3 or sparsity=0.1:0.9:0.1")
    return factor_of(keys.strip(), values.strip(), f"--vary {text}")


def factor_of(keys: str, values: Any, where: str) -> FactorLevels:
    """Return the factor that varies ``keys`` (joined with ``+``) over values: a text as in :func:`parse_vary`, or a list.

    :raises UsageError: see :func:`parse_vary`.
    """
    names = [name.strip() for name in keys.split(ZIP)]
    if isinstance(values, str):
        if len(names) == 1:
            found: list[Any] = [_literal(value) for value in _expand(values, where)]
        else:
            found = [[_literal(part) for part in _split(value, ZIP)] for value in _split(values, ",")]
    elif isinstance(values, Sequence):
        found = list(values)
    else:
        raise UsageError(f"{where}: must be a list of values, or a range such as 0.1:0.9:0.1")
    wrong = [value for value in found if len(names) > 1 and not (isinstance(value, Sequence) and len(value) == len(names))]
    if wrong:
        raise UsageError(f"{where}: each level of {keys} needs {len(names)} values joined with {ZIP}, unlike `{label_of(wrong[0])}`")
    if not found or not all(names):
        raise UsageError(f"{where}: there is no value")
    found = [plain_value(value, where) for value in found]
    pairs = [dict(zip(names, value, strict=True)) if len(names) > 1 else {names[0]: value} for value in found]
    levels = [Level(ZIP.join(label_of(value) for value in settings.values()), settings) for settings in pairs]
    known: dict[tuple[Any, ...], str] = {}
    for level in levels:
        numbers = tuple(label if (number := numeric(label)) is None else number for label in map(label_of, level.settings.values()))
        if known.setdefault(numbers, level.label) != level.label:
            raise UsageError(f"{where}: the levels `{known[numbers]}` and `{level.label}` are the same")
    return check_factor(FactorLevels(keys, tuple(levels)), where)


def check_factor(factor: FactorLevels, where: str) -> FactorLevels:
    """Return the factor if its levels have different labels.

    :raises UsageError: two have the same.
    """
    labels = [level.label for level in factor.levels]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"{where}: the level `{twice}` is given twice; remove one")
    return factor


def label_of(value: Any) -> str:
    """Return the label of a value: ``0.5``, ``true``, ``textfooler+pwws``; for a table, its name or path."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    if isinstance(value, Mapping):
        name = str(value.get("path") or value.get("name") or "")
        extra = ",".join(f"{key}={label_of(item)}" for key, item in value.items() if key not in ("name", "path"))
        return f"{name}({extra})" if extra else name
    if isinstance(value, (list, tuple)):
        return ZIP.join(map(label_of, value)) or "none"
    label = getattr(value, "label", None)  # a task
    return str(label if label is not None else value)


def plain_value(value: Any, where: str) -> Any:
    """Return a value of a setting as TOML can hold it: a path as text, None as ``none``, a component as a table; tasks are kept.

    :raises UsageError: no setting has such a value, such as a date.
    """
    if isinstance(value, (list, tuple)):
        return [plain_value(item, where) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain_value(item, where) for key, item in value.items()}
    if value is None:
        return "none"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, Component) and not isinstance(value, Task):
        return component_table(value)
    if not isinstance(value, (str, bool, Task)):
        raise UsageError(f"{where}: {value} is of type {type(value).__name__}; write a text, a number, true, false, a list or a table")
    return value


def numeric(label: str) -> float | None:
    """Return the number that a label stands for (``0.5``, ``1/6``, ``1e-4``); None if it is not a finite number."""
    top, slash, bottom = label.partition("/")
    try:
        value = float(top) / float(bottom) if slash else float(label)
    except (ValueError, ZeroDivisionError):
        return None
    return value if value - value == 0 else None


def _expand(values: str, where: str) -> Iterator[str]:
    """Yield the values of ``v1,v2`` with each range ``FROM:TO:STEP`` replaced by its numbers, which include the end."""
    for value in _split(values, ","):
        parts = value.split(":")
        try:
            numbers = [Decimal(part) for part in parts]
        except InvalidOperation:
            numbers = []
        if len(numbers) not in (2, 3) or not all(number.is_finite() for number in numbers):
            yield value
            continue
        if len(numbers) == 2:
            raise UsageError(f"{where}: the range {value} has no step; write FROM:TO:STEP, such as 0.1:0.9:0.1")
        first, last, step = numbers
        if not step:
            raise UsageError(f"{where}: the range {value} does not end, because its step is 0; write FROM:TO:STEP, such as 0.1:0.9:0.1")
        if (last - first) / step < 0:
            turned = ":".join([*parts[:2], f"{-step:f}"])
            raise UsageError(f"{where}: the range {value} is empty, because its step goes the wrong way; write {turned}")
        if (last - first) / step > MAX_LEVELS:
            raise UsageError(f"{where}: the range {value} has more than {MAX_LEVELS:,} values")
        yield from (f"{(first + step * index).normalize():f}" for index in range(int((last - first) / step) + 1))


def _literal(text: str) -> Any:
    """Return the value of a TOML string, list or table; other text is returned as it is, so that labels show numbers as written."""
    if not text.startswith(("[", "{", '"', "'")):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _split(text: str, separator: str) -> list[str]:
    """Split at a separator outside quotes, brackets and braces. Empty parts are omitted."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append("")
            continue
        parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
