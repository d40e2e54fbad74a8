"""The paired comparison of cells by metrics on a task: of their outcomes by seed and example, or of their values by seed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from ticketlab.core.errors import Damaged, UsageError
from ticketlab.core.formatting import counted, verb
from ticketlab.report.cells import Cell
from ticketlab.report.metric_values import SeedValue
from ticketlab.report.one_class import metric_of_one_class
from ticketlab.report.outcomes import Outcomes, data_set, examples_of, has_outcomes, outcomes_of
from ticketlab.report.shared_randomness import shared_randomness
from ticketlab.statistics.paired import PairedDifference, compare_outcomes, compare_values

SAME_MEASUREMENT = "both are the same measurement"
OTHER_DATA = "the data of the two are not the same: examples are paired by their ids, whatever their texts"


@frozen
class CellPair:
    """A metric of two cells on a task: their values by seed."""

    metric: str
    task: str
    cells: tuple[Cell, Cell]
    values: tuple[Mapping[int, SeedValue], Mapping[int, SeedValue]]

    @classmethod
    def of(cls, metric: str, task: str, cells: tuple[Cell, Cell], values: tuple[Sequence[SeedValue], Sequence[SeedValue]]) -> CellPair:
        """Return the pair with these values, which are those of distinct seeds."""
        first, second = ({value.seed: value for value in of_cell} for of_cell in values)
        return cls(metric, task, cells, (first, second))

    def keys(self, seed: int) -> tuple[str, str]:
        """Return the keys of the two measurements with a seed."""
        return self.values[0][seed].key, self.values[1][seed].key

    @property
    def measurements(self) -> frozenset[tuple[str, str]]:
        """The keys of the two measurements with each seed that both have."""
        return frozenset(map(self.keys, self.values[0].keys() & self.values[1].keys()))

    @property
    def is_same_measurement(self) -> bool:
        """Whether both values are of one measurement with every seed that both have."""
        return bool(self.measurements) and all(one == other for one, other in self.measurements)

    @property
    def same_data(self) -> bool:
        """Whether the examples are those of equal data: of the set of an ``ood.`` metric, and of others the task."""
        one, other = (self._data((cell.results or {}).get("data", {})).get("fingerprint") for cell in self.cells)
        return bool(one == other)

    def _data(self, every: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the data of the metric; that of a challenge set with the name of a task has a suffix."""
        name = data_set(self.metric)
        found: Mapping[str, Any] = every.get(f"{name} (ood)") or every.get(name or self.task, {})
        return found


@frozen(kw_only=True)
class PairedCells:
    """The ``numbers`` of a comparison, None if no seed is common to all cells; ``unpaired`` are the seeds that only some of them have.

    ``notes`` are limits of the test.
    """

    numbers: PairedDifference | None
    unpaired: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def compare_cells(pairs: Sequence[CellPair], *, null: float = 0.0) -> PairedCells:
    """Compare the first cells of the pairs with the second ones by the means of their values, over the seeds that all have.

    They are compared by :func:`~ticketlab.statistics.paired.compare_outcomes` if every metric has outcomes of the same examples, of which
    those count that have an outcome in every pair. Otherwise the means of each seed are compared by
    :func:`~ticketlab.statistics.paired.compare_values`. A seed whose measurements are those of an earlier one does not count, and neither
    do two cells that are the same measurement, unless all are: their difference of zero would only make the mean difference smaller.
    """
    given, pairs = pairs, _different(pairs) or pairs
    every = [set(values) for pair in pairs for values in pair.values]
    shared = every[0].intersection(*every)
    common, unpaired = sorted(shared), tuple(sorted(every[0].union(*every) - shared))
    if not common:
        return PairedCells(numbers=None, unpaired=unpaired)
    seeds = _distinct(common, pairs)
    numbers = compare_values({seed: (_mean(pairs, 0, seed), _mean(pairs, 1, seed)) for seed in seeds}, null=null)
    if all(pair.is_same_measurement for pair in pairs):
        return PairedCells(numbers=numbers.without_test(SAME_MEASUREMENT), unpaired=unpaired)
    if all(has_outcomes(pair.metric) for pair in pairs) and len({examples_of(pair.metric) for pair in pairs}) == 1:
        numbers = _by_examples(pairs, numbers, null)
    return PairedCells(numbers=numbers, unpaired=unpaired, notes=(*_repeated(given, pairs), *_notes(pairs, numbers, common, unpaired)))


def _different(pairs: Sequence[CellPair]) -> list[CellPair]:
    """Return the pairs without those whose cells have the same measurement of every metric, because no factor has an effect on them."""
    different = {pair.cells for pair in pairs if not pair.is_same_measurement}
    return [pair for pair in pairs if pair.cells in different]


def _repeated(given: Sequence[CellPair], compared: Sequence[CellPair]) -> Iterator[str]:
    number = len({pair.cells for pair in given}) - len({pair.cells for pair in compared})
    if number:
        yield f"{counted(number, 'pair')} of cells that {verb(number)} the same measurement {verb(number)} left out"


def _distinct(seeds: Sequence[int], pairs: Sequence[CellPair]) -> list[int]:
    """Return the seeds without those whose measurements are all those of an earlier seed, because they do not depend on the seed."""
    return list({tuple(pair.keys(seed) for pair in pairs): seed for seed in reversed(seeds)}.values())[::-1]


def _mean(pairs: Sequence[CellPair], side: int, seed: int) -> float:
    return statistics.fmean(pair.values[side][seed].value for pair in pairs)


def _by_examples(pairs: Sequence[CellPair], by_seed: PairedDifference, null: float) -> PairedDifference:
    try:
        found = {seed: (_outcomes(pairs, 0, seed), _outcomes(pairs, 1, seed)) for seed in by_seed.seeds}
    except (UsageError, Damaged) as problem:
        return by_seed.without_test(str(problem))
    sums = {seed: (_summed(first), _summed(second)) for seed, (first, second) in found.items()}
    compared = compare_outcomes(sums, null=null, parts=len(pairs))
    if compared is None:
        return by_seed.without_test("the compared cells have no example in common")
    every = {example for sides in found.values() for outcomes in (*sides[0], *sides[1]) for example in outcomes}
    summed = {example for sides in sums.values() for outcomes in sides for example in outcomes}
    return evolve(compared, left_out=compared.left_out + len(every - summed))


def _outcomes(pairs: Sequence[CellPair], side: int, seed: int) -> list[Outcomes]:
    """Return the outcomes of the examples of one side of each pair."""
    return [outcomes_of(pair.cells[side], pair.values[side][seed], pair.metric) for pair in pairs]


def _summed(outcomes: Sequence[Outcomes]) -> Outcomes:
    """Return the sum of the outcomes of each example that has one in each."""
    return {example: sum(one[example] for one in outcomes) for example in outcomes[0] if all(example in one for one in outcomes)}


def _notes(pairs: Sequence[CellPair], numbers: PairedDifference, common: Sequence[int], unpaired: Sequence[int]) -> Iterator[str]:
    if unpaired:
        yield f"{_left_out(unpaired)}: not all compared cells have {'it' if len(unpaired) == 1 else 'them'}"
    if repeated := sorted(set(common) - set(_distinct(common, pairs))):
        yield f"{_left_out(repeated)}: the measurements are those of another seed"
    if without := sorted(set(_distinct(common, pairs)) - set(numbers.seeds)):
        yield f"{_left_out(without)}: the compared cells have no example in common"
    if numbers.left_out:
        yield f"{counted(numbers.left_out, 'example')} that not all compared cells have {verb(numbers.left_out)} left out"
    if numbers.examples is not None and not all(pair.same_data for pair in pairs):
        yield OTHER_DATA
    yield from dict.fromkeys(
        f"the model of {cell.label} {reason}, so its numbers under attack say nothing about its robustness"
        for pair in pairs
        for cell in pair.cells
        if (reason := metric_of_one_class(cell, pair.metric, pair.task))
    )
    if len(numbers.seeds) > 1:
        seed = numbers.seeds[0]
        found = [shared_randomness(pair.cells[side], pair.values[side][seed]) for pair in pairs for side in (0, 1)]
        yield from filter(None, dict.fromkeys(found))


def _left_out(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))} {verb(len(seeds))} left out"
