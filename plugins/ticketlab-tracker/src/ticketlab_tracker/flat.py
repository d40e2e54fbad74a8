"""Nested tables as flat ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def numbers_in(table: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the numbers of a table, without truth values and lists, by their paths with slashes."""
    return {
        name.replace(".", "/"): float(value)
        for name, value in _leaves(table, prefix)
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def settings_in(table: Mapping[str, Any]) -> dict[str, bool | int | float | str]:
    """Return all settings of a table by dotted names; lists as texts."""
    return {name: value if isinstance(value, (bool, int, float, str)) else str(value) for name, value in _leaves(table)}


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        path = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, Mapping):
            yield from _leaves(value, path)
        elif value is not None:
            yield path, value
