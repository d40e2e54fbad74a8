"""Ages and sizes as short texts."""

from __future__ import annotations

STEPS = ((60, "s"), (60, "min"), (24, "h"), (7, "d"), (52.2, "wk"))


def age(seconds: float) -> str:
    """Return an age in its largest whole unit: ``40 s``, ``5 min``, ``3 h``, ``2 d``, ``8 wk``, ``1 y``."""
    left = max(seconds, 0.0)
    for size, unit in STEPS:
        if left < size:
            return f"{int(left)} {unit}"
        left /= size
    return f"{int(left)} y"


def size(number: float) -> str:
    """Return a number of bytes in a decimal unit, with at least two digits: ``812 B``, ``1.2 kB``, ``34 MB``, ``5.6 GB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 9.95 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.0f} TB" if number >= 9.95 else f"{number:.1f} TB"
