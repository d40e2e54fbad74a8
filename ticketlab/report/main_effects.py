"""The effect of each factor of a comparison on a metric, averaged over the other factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from ticketlab.core.formatting import counted, verb
from ticketlab.report.cells import Cell, Comparison, Factor
from ticketlab.report.metric_values import SeedValue, check_metric, metric_values
from ticketlab.report.shared_randomness import shared_randomness
from ticketlab.statistics.seeds import SeedStatistics, over_seeds, paired_t_test

TASK = "task"
"""The key of a factor that varies the task."""
NOT_BALANCED = "the levels do not have the same combinations of the other factors: compare the differences, not the means"


@frozen
class LevelEffect:
    """One level of a factor.

    ``mean`` is the mean over the ``cells`` of the level, over the seeds that all of them have. ``difference`` is the mean difference to
    the reference level over the ``pairs`` of cells that differ in this factor alone, over the seeds that all pairs have, and ``p`` the p
    value of the paired t test over seeds. They are None for the reference level, and where there are no pairs. ``unpaired`` counts the
    level's cells without a partner. A run of several tasks is a cell for each task.
    """

    level: str
    mean: SeedStatistics | None
    cells: int
    difference: SeedStatistics | None = None
    p: float | None = None
    pairs: int = 0
    unpaired: int = 0


@frozen
class MainEffect:
    """The effect of a factor on a metric. ``balanced``: every level has the same combinations of the other factors.

    If it is false, the means of the levels are over different cells, and only the differences may be compared.
    """

    factor: str
    metric: str
    reference: str
    levels: tuple[LevelEffect, ...]
    balanced: bool
    notes: tuple[str, ...] = ()


@frozen
class _Unit:
    """The values of one ``cell`` on one task, by seed. ``others`` identifies the levels of the other factors."""

    cell: Cell
    level: str
    others: tuple[str, ...]
    values: Mapping[int, SeedValue]


def main_effects(comparison: Comparison, metric: str, *, task: str = "", of: str = "") -> tuple[MainEffect, ...]:
    """Return the effect of each factor that has several levels with a value of the metric, on one task or averaged over all.

    The reference is the level of the comparison's baseline, or the first. Cells on which a factor has no effect (``inapplicable``) do not
    count for this factor. ``of`` is as in :func:`ticketlab.report.metric_values.metric_values`.

    :raises UsageError: no cell has the metric, or it is ambiguous.
    """
    check_metric(comparison, metric)
    values = [(cell, metric_values(cell, metric, of)) for cell, _ in comparison.finished]
    values = [(cell, {name: found for name, found in by_task.items() if task in ("", name)}) for cell, by_task in values]
    effects = (_main_effect(comparison, factor, metric, values) for factor in comparison.factors)
    return tuple(effect for effect in effects if len(effect.levels) > 1)


def _main_effect(
    comparison: Comparison, factor: Factor, metric: str, values: Sequence[tuple[Cell, Mapping[str, Sequence[SeedValue]]]]
) -> MainEffect:
    ineffective = [cell for cell, by_task in values if by_task and factor.name in cell.inapplicable]
    units = [unit for cell, by_task in values if cell not in ineffective for unit in _units(comparison, factor, cell, by_task)]
    levels = [level for level in factor.levels if any(unit.level == level for unit in units)]
    reference = _reference(comparison, factor, levels)
    combinations = {level: {unit.others for unit in units if unit.level == level} for level in levels}
    balanced = len({frozenset(others) for others in combinations.values()}) <= 1
    effects = tuple(_level_effect(level, reference, units) for level in levels)
    notes = [] if balanced else [NOT_BALANCED]
    if ineffective:
        number = len(ineffective)
        notes.append(f"{counted(number, 'cell')} on which {factor.name} has no effect {verb(number)} left out")
    dropped = sorted({seed for unit in units for seed in unit.values} - _common_seeds(units))
    if dropped:
        notes.append(f"not all cells have seed {', '.join(map(str, dropped))}: each number uses the seeds that all of its cells have")
    if any(effect.p is not None for effect in effects):
        found = [shared_randomness(unit.cell, next(iter(unit.values.values()))) for unit in units if unit.values]
        notes += filter(None, dict.fromkeys(found))
    return MainEffect(factor.name, metric, reference, effects, balanced, tuple(notes))


def _units(comparison: Comparison, factor: Factor, cell: Cell, by_task: Mapping[str, Sequence[SeedValue]]) -> list[_Unit]:
    """Return the units of a cell. Cells that differ in the task are partners only if the factor varies it."""
    others = tuple(cell.levels.get(other.name, "") for other in comparison.factors if other.name != factor.name)
    varies_task = TASK in {key.strip() for key in factor.key.replace("+", ",").split(",")} or factor.name == TASK
    return [
        _Unit(cell, cell.levels.get(factor.name, ""), (*others, "" if varies_task else task), {value.seed: value for value in values})
        for task, values in by_task.items()
    ]


def _reference(comparison: Comparison, factor: Factor, levels: Sequence[str]) -> str:
    """Return the level that the others are compared with."""
    cell = next((cell for cell in comparison.cells if cell.label == comparison.baseline), None)
    baseline = cell.levels.get(factor.name, "") if cell else comparison.baseline
    return baseline if baseline in levels else next(iter(levels), "")


def _level_effect(level: str, reference: str, units: Sequence[_Unit]) -> LevelEffect:
    own = [unit for unit in units if unit.level == level]
    mean = over_seeds(_means(own))
    if level == reference:
        return LevelEffect(level, mean, len(own))
    partners = {unit.others: unit for unit in units if unit.level == reference}
    pairs = [(unit, partners[unit.others]) for unit in own if unit.others in partners]
    differences = _differences(pairs)
    magnitude = max((abs(value.value) for pair in pairs for unit in pair for value in unit.values.values()), default=0.0)
    statistics, p = over_seeds(differences, magnitude=magnitude), paired_t_test(differences, magnitude=magnitude)
    return LevelEffect(level, mean, len(own), statistics, p, len(pairs), len(own) - len(pairs))


def _means(units: Sequence[_Unit]) -> list[float]:
    """Return the mean over the units with each seed that all have; a seed whose measurements are an earlier one's counts once."""
    by_keys = {
        tuple(unit.values[seed].key for unit in units): sum(unit.values[seed].value for unit in units) / len(units)
        for seed in sorted(_common_seeds(units))
    }
    return list(by_keys.values())


def _differences(pairs: Sequence[tuple[_Unit, _Unit]]) -> list[float]:
    """Return the mean difference over the pairs with each seed that all have; a seed that repeats an earlier one counts once."""
    units = [unit for pair in pairs for unit in pair]
    by_keys = {
        tuple(unit.values[seed].key for unit in units): sum(one.values[seed].value - other.values[seed].value for one, other in pairs)
        / len(pairs)
        for seed in sorted(_common_seeds(units))
    }
    return list(by_keys.values())


def _common_seeds(units: Sequence[_Unit]) -> set[int]:
    return set.intersection(*(set(unit.values) for unit in units)) if units else set()
