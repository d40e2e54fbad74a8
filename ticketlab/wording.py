"""Words around numbers in messages."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Return ``1 example`` or ``2 examples``; ``many`` is what more than one, or none, are called if that is not ``one`` with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
