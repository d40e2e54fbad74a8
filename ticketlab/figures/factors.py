"""Which factor, task or model distinguishes the entries of a picture: finding factors by name, and the labels of series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.figures.measured import Measured
from ticketlab.figures.positions import as_number
from ticketlab.report.cells import Comparison, Factor

TASK, MEASUREMENT = "task", "measured model"
NONE = "none"
SEPARATOR = " · "


@frozen
class Dimensions:
    """Everything that the entries of a picture may differ in: the factors of the comparison, their tasks, and their measured models."""

    factors: tuple[Factor, ...]
    own: frozenset[str]
    """The names of those that are factors of the comparison."""
    measurements: Mapping[tuple[str, str, str], int]
    """How many models or stages a metric of a cell and task comes from; only several are told apart."""

    @classmethod
    def of(cls, comparison: Comparison, entries: Iterable[Measured]) -> Dimensions:
        """Return the dimensions of a comparison. Tasks and measured models are included unless a factor varies the task."""
        factors = list(comparison.factors)
        names = frozenset(factor.name for factor in factors)
        kept = list(entries)
        if not any(TASK in (factor.name, factor.key) for factor in factors):
            factors.append(Factor(TASK, tuple(dict.fromkeys(entry.task for entry in kept)), TASK))
        factors.append(Factor(MEASUREMENT, tuple(dict.fromkeys(entry.measurement for entry in kept)), MEASUREMENT))
        distinct = {(entry.cell.label, entry.task, entry.metric, entry.measurement) for entry in kept}
        return cls(tuple(factors), names, Counter((cell, task, metric) for cell, task, metric, _ in distinct))

    def find(self, name: str, argument: str) -> Factor:
        """Return a factor by its name, or by what it varies.

        :raises UsageError: there is none.
        """
        found = self.get(name)
        if found is None:
            known = [factor.name for factor in self.factors if factor.name != MEASUREMENT]
            raise UsageError(f"{argument}: no factor `{name}`{did_you_mean(name, known)}")
        return found

    def get(self, name: str) -> Factor | None:
        """Return a factor by its name, or by what it varies; None if there is none."""
        by_name = [factor for factor in self.factors if factor.name == name]
        by_key = [factor for factor in self.factors if name in (factor.key, *factor.key.split("+"))]
        return next(iter(by_name or by_key), None)

    def level(self, entry: Measured, factor: Factor, *, applicable: bool = True) -> str | None:
        """Return an entry's level of a factor; None if it has none, or, with ``applicable``, if the factor has no effect on it."""
        if factor.name not in self.own:
            several = factor.name == MEASUREMENT and self.measurements[entry.cell.label, entry.task, entry.metric] > 1
            return entry.task if factor.name == TASK else entry.measurement if several else None
        if applicable and factor.name in entry.cell.inapplicable:
            return None
        return entry.cell.levels.get(factor.name) or None


def series_labels(
    dimensions: Dimensions,
    entries: Sequence[Measured],
    color: Sequence[Factor],
    placed: Sequence[Factor],
    x_of: Sequence[float] | None = None,
) -> list[str]:
    """Return the label of each entry's series: its levels of the ``color`` factors, and of all others that would otherwise be mixed up.

    ``placed`` are the factors that the axes and panels show. If the axis shows a metric, ``x_of`` has each entry's position on it, and a
    factor that the position determines, as the sparsity asked for determines the one achieved, is not in the label either.
    """
    parts = [[(factor, level) for factor in color if (level := dimensions.level(entry, factor)) is not None] for entry in entries]
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, part in enumerate(parts):
        groups.setdefault(tuple(level for _, level in part), []).append(index)
    taken = {factor.name for factor in (*color, *placed)}
    for members in groups.values():
        for factor in dimensions.factors:
            if factor.name in taken:
                continue
            levels = {index: dimensions.level(entries[index], factor) for index in members}
            if len({level for level in levels.values() if level is not None}) < 2 or (x_of and _determined(levels, x_of)):
                continue
            for index, level in levels.items():
                parts[index] += [] if level is None else [(factor, level)]
    return [joined_levels(part) for part in parts]


def joined_levels(levels: Sequence[tuple[Factor, str]]) -> str:
    """Return levels as one label. If there are several, one that alone says nothing has the name of its factor before it."""
    if len(levels) == 1:
        return levels[0][1]
    return SEPARATOR.join(dict.fromkeys(f"{factor.name} {level}" if _says_nothing(level) else level for factor, level in levels))


def _says_nothing(level: str) -> bool:
    return level.lower() in ("none", "true", "false") or as_number(level) is not None


def recipe_of(entry: Measured) -> str:
    """Return the recipe of an entry's run."""
    return str((entry.cell.results or {}).get("recipe", entry.cell.label))


def named(labels: Sequence[str], entries: Sequence[Measured], *, by_cell: bool) -> list[str]:
    """Return labels in which those that nothing tells apart are one series.

    It has the name of their recipe, or ``by_cell`` that of their only cell: lines may be of a training that cells share.
    """
    unnamed = [entry for label, entry in zip(labels, entries, strict=True) if not label]
    cells, recipes = {entry.cell.label for entry in unnamed}, {recipe_of(entry) for entry in unnamed}
    name = cells.pop() if by_cell and len(cells) == 1 else recipes.pop() if len(recipes) == 1 else "all"
    return [label or name for label in labels]


def _determined(levels: dict[int, str | None], x_of: Sequence[float]) -> bool:
    """Return whether entries at one position have one level: the position says which."""
    at: dict[float, set[str | None]] = {}
    for index, level in levels.items():
        at.setdefault(round(x_of[index], 6), set()).add(level)
    return all(len(found) == 1 for found in at.values())


def ordered(labels: Sequence[str], entries: Sequence[Measured], dimensions: Dimensions, color: Sequence[Factor]) -> list[str]:
    """Return distinct labels in the order of the levels of the first colour factor, then of appearance."""
    ranks: dict[str, int] = {}
    for label, entry in zip(labels, entries, strict=True):
        level = dimensions.level(entry, color[0]) if color else None
        ranks.setdefault(label, color[0].levels.index(level) if color and level in color[0].levels else len(labels))
    return sorted(ranks, key=lambda label: ranks[label])


def color_factors(dimensions: Dimensions, color: str | Sequence[str] | None) -> list[Factor]:
    """Return the factors that a ``color`` argument names, several separated by commas.

    :raises UsageError: one does not exist.
    """
    if color is None:
        return []
    names = color.split(",") if isinstance(color, str) and dimensions.get(color) is None else [color] if isinstance(color, str) else color
    return [dimensions.find(name.strip(), "color") for name in names]


def facet_factor(dimensions: Dimensions, facet: str | None, entries: Sequence[Measured], used: Sequence[Factor]) -> Factor | None:
    """Return the factor of the panels: the one that is named, by default the task if there are several; None for one panel.

    :raises UsageError: the named one does not exist.
    """
    if facet == NONE:
        return None
    if facet is not None:
        return dimensions.find(facet, "facet")
    task = dimensions.get(TASK)
    if task is None or task in used or len({dimensions.level(entry, task) for entry in entries}) < 2:
        return None
    return task


def panel_levels(dimensions: Dimensions, entries: Sequence[Measured], panels: Factor | None) -> list[str | None]:
    """Return the levels of the panels' factor that entries have, in its order; a single None for one panel."""
    if panels is None:
        return [None]
    found = {dimensions.level(entry, panels, applicable=False) for entry in entries}
    return [level for level in panels.levels if level in found] or [None]


def in_panel(dimensions: Dimensions, entry: Measured, panels: Factor | None, level: str | None) -> bool:
    """Return whether an entry belongs into the panel of a level. One that has no level of the factor belongs into every panel."""
    return panels is None or dimensions.level(entry, panels, applicable=False) in (level, None)
