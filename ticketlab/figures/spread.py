"""The mean over seeds that a picture shows, and its band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from attrs import frozen

from ticketlab.statistics.seeds import over_seeds

Band = Literal["deviation", "interval", "none"]
DESCRIPTIONS = {"deviation": "± 1 standard deviation", "interval": "95 % Student interval of the mean"}


@frozen
class Spread:
    """The mean of ``seeds`` values, and the ends of its band; they are None without one, as for one seed."""

    mean: float
    low: float | None
    high: float | None
    seeds: int


def spread(values: Sequence[float], band: Band = "deviation", bounds: tuple[float, float] | None = None) -> Spread:
    """Return the mean of one value per distinct seed with its band, which ends at the ``bounds`` of possible values."""
    found = over_seeds(values)
    assert found is not None
    deviation = None if found.deviation is None else (found.mean - found.deviation, found.mean + found.deviation)
    ends = {"deviation": deviation, "interval": found.interval, "none": None}[band]
    if ends is None:
        return Spread(found.mean, None, None, found.seeds)
    low, high = ends if bounds is None else (max(ends[0], bounds[0]), min(ends[1], bounds[1]))
    return Spread(found.mean, low, high, found.seeds)
