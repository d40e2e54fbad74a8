"""Lists of names in settings, which the command line gives as text."""

from __future__ import annotations

from typing import Any


def to_names(value: Any) -> Any:
    """Convert ``"premise,hypothesis"`` to a tuple; return anything else unchanged."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list) else value
