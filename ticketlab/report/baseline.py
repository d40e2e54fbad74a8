"""The cell that another cell is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.formatting import joined
from ticketlab.report.cells import Cell, Comparison, Factor


@frozen
class Baseline:
    """The baseline of a cell, or the ``reason`` why it has none."""

    cell: Cell | None
    reason: str = ""


def find_baseline(comparison: Comparison, cell: Cell, name: str = "") -> Baseline:
    """Return what ``cell`` is compared with: ``name``, or the comparison's baseline if it is empty.

    The name is the label of a cell, or a level of a factor. For a level, the baseline is the cell with this level whose other levels are
    those of ``cell``. Factors that do not vary among the cells of this level are ignored: fine-tuning that was run at one sparsity is the
    baseline at every sparsity.

    :raises UsageError: there is no such cell or level, or several factors have the level.
    """
    name = name or comparison.baseline
    if not name:
        return Baseline(None, "no baseline was named")
    by_label = next((other for other in comparison.cells if other.label == name), None)
    if by_label is not None:
        return Baseline(by_label)
    having = [factor for factor in comparison.factors if name in factor.levels]
    if len(having) > 1:
        factors = joined([f"`{factor.name}`" for factor in having])
        raise UsageError(f"the baseline `{name}` is a level of {factors}: name a cell, such as `{_cell_with(comparison, having, name)}`")
    factor = next(iter(having), None)
    if factor is None:
        cells = [other.label for other in comparison.cells]
        known = list(dict.fromkeys([*cells, *(level for factor in comparison.factors for level in factor.levels)]))
        raise UsageError(
            f"no cell or level is called `{name}`, which was named as the baseline{did_you_mean(name, list(dict.fromkeys(known)))}"
        )
    candidates = [other for other in comparison.cells if other.levels.get(factor.name) == name]
    others = [other.name for other in comparison.factors if other.name != factor.name]
    varying = [other for other in others if len({candidate.levels.get(other) for candidate in candidates}) > 1]
    matching = [other for other in candidates if all(other.levels.get(key) == cell.levels.get(key) for key in varying)]
    if len(matching) == 1:
        return Baseline(matching[0])
    where = ", ".join(f"{key} {cell.levels.get(key, '-')}" for key in varying)
    return Baseline(None, f"{'no cell is' if not matching else 'several cells are'} `{name}`{f' at {where}' if where else ''}")


def _cell_with(comparison: Comparison, factors: Sequence[Factor], level: str) -> str:
    """Return the label of the cell that has a level of several factors, or of the first cell."""
    both = (cell for cell in comparison.cells if all(cell.levels.get(factor.name) == level for factor in factors))
    return next(both, comparison.cells[0]).label
