"""Recognises names of splits in the values of a column, and typical names of split columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from ticketlab.tasks.reading.split_names import SPLIT_OF_STEM

SPLIT_OF_VALUE: Mapping[str, str] = {
    **SPLIT_OF_STEM,
    "training": "train",
    "trn": "train",
    "development": "validation",
    "devel": "validation",
    "eval": "validation",
    "evaluation": "validation",
    "testing": "test",
    "tst": "test",
}
SPLIT_COLUMN_NAMES = frozenset({"set", "sets", "subset", "fold", "folds", "dataset", "phase", "usage", "splits", "splitname", "traintest"})
"""Names of split columns, in addition to all that end in ``split`` or ``partition``; only letters and digits are compared."""
_FLAG = re.compile(r"(is|in)?(train|training|test|testing|dev|development|val|valid|validation|eval|evaluation|heldout)(set|split)?")
_BOOLEANS = frozenset({"0", "1", "true", "false", "yes", "no", "y", "n", "t", "f", ""})


def split_of_value(value: Any) -> str | None:
    """Return the split that a value names, if any: ``Train``, ``valid`` and ``test set`` are ``train``, ``validation`` and ``test``."""
    if not isinstance(value, str):
        return None
    name = re.sub(r"[\W_]+", "_", value.lower()).strip("_")
    return SPLIT_OF_VALUE.get(name) or SPLIT_OF_VALUE.get(re.sub(r"_?(set|split|data)$", "", name))


def is_split_like(column: str) -> bool:
    """Return whether a column with this name is expected to contain names of splits."""
    plain = _plain(column)
    return plain in SPLIT_COLUMN_NAMES or plain.endswith(("split", "partition"))


def are_folds(column: str, values: Collection[str]) -> bool:
    """Return whether a column is named like a split column but contains numbers, such as cross-validation folds."""
    return is_split_like(column) and any(values) and all(value.isdecimal() for value in values if value)


def are_flags(column: str, values: Collection[str]) -> bool:
    """Return whether a column contains flags for a split, such as ``is_train``."""
    return is_flag(column) and len(values) > 1 and {value.lower() for value in values} <= _BOOLEANS


def is_flag(column: str) -> bool:
    """Return whether a column with this name is expected to contain flags for a split."""
    return _FLAG.fullmatch(_plain(column)) is not None


def _plain(column: str) -> str:
    return re.sub(r"[\W_]+", "", column.lower())
