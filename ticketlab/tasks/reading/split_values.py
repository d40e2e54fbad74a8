"""Names of splits in the values of a column, and names of columns that have them."""

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
COLUMNS = frozenset({"set", "sets", "subset", "fold", "folds", "dataset", "phase", "usage", "splits", "splitname", "traintest"})
"""What columns that divide a data set are called, beside all that ends in ``split`` or ``partition``; letters and digits alone count."""
_FLAG = re.compile(r"(is|in)?(train|training|test|testing|dev|development|val|valid|validation|eval|evaluation|heldout)(set|split)?")
_BOOLEANS = frozenset({"0", "1", "true", "false", "yes", "no", "y", "n", "t", "f", ""})


def split_of(value: Any) -> str | None:
    """Return the split that a value names: ``Train``, ``valid`` and ``test set`` are ``train``, ``validation`` and ``test``."""
    if not isinstance(value, str):
        return None
    name = re.sub(r"[\W_]+", "_", value.lower()).strip("_")
    return SPLIT_OF_VALUE.get(name) or SPLIT_OF_VALUE.get(re.sub(r"_?(set|split|data)$", "", name))


def is_split_like(column: str) -> bool:
    """Say whether a column of this name may be expected to name splits."""
    plain = _plain(column)
    return plain in COLUMNS or plain.endswith(("split", "partition"))


def are_folds(column: str, values: Collection[str]) -> bool:
    """Say whether a column of this name has numbers, such as those of the folds of a cross-validation."""
    return is_split_like(column) and any(values) and all(value.isdecimal() for value in values if value)


def are_flags(column: str, values: Collection[str]) -> bool:
    """Say whether a column of this name, such as ``is_train``, says yes or no of a split."""
    return is_flag(column) and len(values) > 1 and {value.lower() for value in values} <= _BOOLEANS


def is_flag(column: str) -> bool:
    """Say whether a column of this name may be expected to say yes or no of a split."""
    return _FLAG.fullmatch(_plain(column)) is not None


def _plain(column: str) -> str:
    return re.sub(r"[\W_]+", "", column.lower())
