"""How a page names the cells of a comparison: the columns that identify them, and the links to their details."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from ticketlab.pages.data_table import PageCell, PageColumn
from ticketlab.report.cells import Cell, Comparison, Factor


@frozen
class CellNames:
    """The names of cells: their levels of the factors that vary, or their labels if none does."""

    comparison: Comparison

    @property
    def factors(self) -> list[Factor]:
        """The factors with several levels."""
        return [factor for factor in self.comparison.factors if len(factor.levels) > 1]

    @property
    def has_tasks(self) -> bool:
        """Whether the task is a factor."""
        return any(factor.key == "task" for factor in self.factors)

    @property
    def columns(self) -> list[PageColumn]:
        """The columns of :meth:`stub`."""
        if self._are_labelled:
            return [PageColumn("Run", numeric=False)]
        return [PageColumn(factor.name, numeric=False, filter=True) for factor in self.factors]

    def stub(self, cell: Cell) -> list[PageCell]:
        """Return the cells of a table that identify a cell; the first is a link to its details."""
        link = self.anchor(cell.label)
        if self._are_labelled:
            return [PageCell.of_text(cell.label, link=link, below=status(cell))]
        levels = [
            (cell.levels.get(factor.name, ""), "no effect here" if factor.name in cell.inapplicable else "") for factor in self.factors
        ]
        (first, below), *others = levels
        below = "; ".join(text for text in (status(cell), below) if text)
        return [
            PageCell(first or cell.label, first, below=below, title=cell.label, link=link),
            *(PageCell.of_text(level, below=below) for level, below in others),
        ]

    def anchor(self, label: str) -> str:
        """Return the id of the details of a cell in the page."""
        return f"cell-{[cell.label for cell in self.comparison.cells].index(label) + 1}"

    @property
    def _are_labelled(self) -> bool:
        """Whether the levels do not identify the cells, or are their labels."""
        return _are_labels(self.factors, self.comparison.cells)


def _are_labels(factors: Sequence[Factor], cells: Sequence[Cell]) -> bool:
    by_levels = {tuple(cell.levels.get(factor.name, "") for factor in factors) for cell in cells}
    return len(by_levels) < len(cells) or len(cells) == 1 or all(set(cell.levels.values()) == {cell.label} for cell in cells)


def status(cell: Cell) -> str:
    """Return what is unusual about a cell, if anything.

    It is ``failed``, ``not computed``, ``not in the lab``, ``not finished`` or ``same as LABEL``.
    """
    if cell.error:
        return "failed"
    if cell.unavailable:
        return "not computed"
    if cell.missing:
        return "not in the lab"
    if cell.results is None:
        return "not finished"
    return f"same as {cell.same_as}" if cell.same_as else ""
