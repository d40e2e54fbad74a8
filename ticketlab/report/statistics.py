"""The numbers beside a mean: the deviation over seeds, and the interval of a fraction."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from ticketlab.core.intervals import wilson


@frozen
class Measure:
    """A number over seeds. ``deviation`` is None for one seed, ``interval`` and ``n`` where the number is none of examples.

    ``n`` is the number of examples behind each seed's value: the smallest, where they differ, and ``largest`` is then the largest.
    """

    mean: float
    deviation: float | None = None
    interval: tuple[float, float] | None = None
    n: int | None = None
    largest: int | None = None


def distinct(stages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return stages of several seeds without those whose key an earlier one has: they are one measurement, and no second one."""
    seen: set[str] = set()
    found = []
    for stage in stages:
        key = stage.get("key")
        if key is None or key not in seen:
            found.append(stage)
        seen.add(str(key))
    return found


def deviation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation (n - 1 below the sum), or None for fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else None


def summarise(values: Sequence[float | None], sizes: Sequence[int | None] = ()) -> Measure | None:
    """Return the mean and deviation of one value per seed, those that are None aside; None when nothing is left.

    ``sizes`` has the number of examples behind each value, where it is a fraction; the smallest counts for the interval.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = statistics.fmean(known)
    n, largest = _extremes(size for size in sizes if size is not None)
    return Measure(mean, deviation(known), None if n is None else wilson(mean, n), n, largest)


def summarise_means(found: Sequence[Mapping[str, Any]], key: str) -> Measure | None:
    """Return the mean and deviation of means over examples, one per seed; what they are made of stands under ``KEY_of``.

    The interval of one seed is its own; several have none, as each seed has its own spread of examples.
    """
    known = [one for one in found if one.get(key) is not None]
    measure = summarise([one[key] for one in known])
    parts = [one.get(f"{key}_of", {}) for one in known]
    if measure is None or not all("n" in one for one in parts):
        return measure
    interval = parts[0]["interval"] if len(parts) == 1 else None
    n, largest = _extremes(one["n"] for one in parts)
    return evolve(measure, interval=tuple(interval) if interval else None, n=n, largest=largest)


def _extremes(sizes: Iterable[int]) -> tuple[int | None, int | None]:
    """Return the smallest size, and the largest where it is another one."""
    found = sorted(sizes)
    return (found[0], found[-1] if found[-1] > found[0] else None) if found else (None, None)
