"""The labels of cells in pictures with a panel or a tile per cell: only what tells the drawn cells apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ticketlab.core.formatting import printable
from ticketlab.figures.factors import SEPARATOR, joined_levels
from ticketlab.report.cells import Cell, Comparison


def cell_labels(comparison: Comparison, cells: Sequence[Cell]) -> dict[str, str]:
    """Return the label of each of these cells, by the label that the cell has in the comparison."""
    if len(cells) == 1:
        return {cell.label: cell.label for cell in cells}
    levels = {
        cell.label: [
            (factor, level)
            for factor in comparison.factors
            if factor.name not in cell.inapplicable and (level := cell.levels.get(factor.name)) is not None
        ]
        for cell in cells
    }
    varying = {
        factor.name for factor in comparison.factors if len({level for own in levels.values() for f, level in own if f == factor}) > 1
    }
    found = {label: joined_levels([(factor, level) for factor, level in own if factor.name in varying]) for label, own in levels.items()}
    repeated = {text for text in found.values() if list(found.values()).count(text) > 1}
    return {label: label if not text or text in repeated else text for label, text in found.items()}


def full_label(label: str, task: str, tasks: Collection[str], stage: str = "") -> str:
    """Return a cell's label with its task, if there are several and it does not name it, and its stage."""
    own_task = [task] if len(tasks) > 1 and task not in label.split(SEPARATOR) else []
    return printable(SEPARATOR.join([label, *own_task, *([stage] if stage else [])]))
