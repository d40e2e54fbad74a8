"""Statistics over seeds: the mean, its deviation, and the confidence interval of a fraction."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from ticketlab.core.intervals import wilson


@frozen
class Measure:
    """A number over seeds. ``deviation`` is None for one seed; ``interval`` and ``n`` are None if it is not an average over examples.

    ``n`` is the number of examples behind each seed's value. If the seeds differ, it is the smallest and ``largest`` is the largest.
    """

    mean: float
    deviation: float | None = None
    interval: tuple[float, float] | None = None
    n: int | None = None
    largest: int | None = None


def distinct_stages(stages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the stages of several seeds without those that have the key of an earlier one: they are the same measurement."""
    seen: set[str] = set()
    distinct = []
    for stage in stages:
        key = stage.get("key")
        if key is None or key not in seen:
            distinct.append(stage)
        seen.add(str(key))
    return distinct


def deviation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation (with n - 1 degrees of freedom), or None for fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else None


def summarise(values: Sequence[float | None], sizes: Sequence[int | None] = ()) -> Measure | None:
    """Return the mean and deviation of one value per seed, ignoring None; None if there is no value.

    ``sizes`` has the number of examples behind each value if the values are fractions; the interval uses the smallest.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = statistics.fmean(known)
    n, largest = _extremes(size for size in sizes if size is not None)
    return Measure(mean, deviation(known), None if n is None else wilson(mean, n), n, largest)


def summarise_means(seeds: Sequence[Mapping[str, Any]], key: str) -> Measure | None:
    """Return the mean and deviation of means over examples, one per seed; each mean's sample size and interval are in ``KEY_of``.

    A single seed has its own interval. Several seeds have none, since the spread of the examples differs between seeds.
    """
    known = [result for result in seeds if result.get(key) is not None]
    measure = summarise([result[key] for result in known])
    details = [result.get(f"{key}_of", {}) for result in known]
    if measure is None or not all("n" in result for result in details):
        return measure
    interval = details[0]["interval"] if len(details) == 1 else None
    n, largest = _extremes(result["n"] for result in details)
    return evolve(measure, interval=tuple(interval) if interval else None, n=n, largest=largest)


def _extremes(sizes: Iterable[int]) -> tuple[int | None, int | None]:
    """Return the smallest size, and the largest if it differs."""
    ordered = sorted(sizes)
    return (ordered[0], ordered[-1] if ordered[-1] > ordered[0] else None) if ordered else (None, None)
