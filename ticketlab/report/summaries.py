"""The numbers of a comparison summarised over seeds: one summary per cell, task, measured model, stage and metric."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from ticketlab.report.numbers import Number
from ticketlab.statistics.seeds import SeedStatistics, over_seeds


@frozen
class Summary:
    """One metric over seeds.

    ``values`` are the numbers of the seeds. A measurement that several seeds share, because it does not depend on the seed, counts once in
    ``statistics``, whose ``seeds`` is thus the number of distinct measurements.
    """

    values: tuple[Number, ...]
    statistics: SeedStatistics

    @property
    def number(self) -> Number:
        """The number of the first seed; all but its seed, key, value, interval and size holds for all seeds."""
        return self.values[0]

    @property
    def examples(self) -> tuple[int, int] | None:
        """The smallest and the largest number of examples behind a seed's value; None if it is not an average over examples."""
        sizes = [value.n for value in self.values if value.n is not None]
        return (min(sizes), max(sizes)) if sizes else None

    @property
    def keys(self) -> list[str]:
        """The keys of the distinct measurements."""
        return list(dict.fromkeys(value.key for value in self.values if value.key))


def summarise_numbers(numbers: Iterable[Number]) -> list[Summary]:
    """Return the summaries of the numbers that were not measured during a training, in the order of their first numbers."""
    groups: dict[tuple[str, ...], list[Number]] = {}
    for number in numbers:
        if number.step is None:
            identity = (number.cell, number.run, number.task, number.of, number.checkpoint, number.stage, number.metric)
            groups.setdefault(identity, []).append(number)
    found = []
    for group in groups.values():
        distinct = {number.key or number.seed: number.value for number in reversed(group)}
        if (statistics := over_seeds(list(distinct.values()))) is not None:
            found.append(Summary(tuple(group), statistics))
    return found
