"""Tables and lists of tables, as values of a study file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ticketlab.core.errors import UsageError


def as_table(value: Any, where: str) -> Mapping[str, Any]:
    """Return a value that must be a table.

    :raises UsageError: it is not one.
    """
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: must be a table, not {value!r}")
    return value


def as_tables(value: Any, where: str) -> Sequence[Mapping[str, Any]]:
    """Return a value that must be a list of tables.

    :raises UsageError: it is not one.
    """
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"{where}: must be a list of tables ([[{where}]] in TOML), not {value!r}")
    return [as_table(item, where) for item in value]
