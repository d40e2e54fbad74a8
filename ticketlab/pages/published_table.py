"""The table of the numbers printed in a paper, beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticketlab.pages.cell_names import CellNames
from ticketlab.pages.data_table import PageCell, PageColumn, PageRow, PageTable, without_empty_columns
from ticketlab.pages.number_cells import summary_cell
from ticketlab.report.cells import Cell, Comparison, Published
from ticketlab.report.comparison_table import published_text
from ticketlab.report.metric_text import metric_text
from ticketlab.report.summaries import Summary
from ticketlab.report.table_spec import levels_of

NOTE = (
    "Published: as printed in the paper. Difference: ours less the published number, in the same unit. A published number without a "
    "finished cell of ours has an empty cell beside it."
)


def published_table(comparison: Comparison, summaries: Sequence[Summary], names: CellNames) -> PageTable | None:
    """Return the table, or None if the comparison has no published numbers."""
    rows = [row for published in comparison.published for row in _rows(comparison, published, summaries, names)]
    if not rows:
        return None
    heads = [
        *names.columns,
        PageColumn("Task", numeric=False, filter=True),
        PageColumn("Metric", numeric=False, filter=True),
        PageColumn("Published"),
        PageColumn("Ours"),
        PageColumn("Difference"),
    ]
    columns, kept = without_empty_columns(heads, rows)
    return PageTable("published", "Published numbers", columns, kept, NOTE)


def _rows(comparison: Comparison, published: Published, summaries: Sequence[Summary], names: CellNames) -> Iterator[PageRow]:
    """Yield a row for each of our numbers that the published number is of, or one without ours."""
    found = {cell.label: [one for one in summaries if _is_of(published, one, cell)] for cell in comparison.cells}
    planned = [cell for cell in comparison.cells if published.levels.items() <= cell.levels.items()]
    cells = [cell for cell in comparison.cells if found[cell.label] or cell in planned]
    text = metric_text(published.metric)
    printed = PageCell(published_text(published.value, text), published.value)
    metric = PageCell.of_text(published.metric)
    for cell in cells:
        for summary in found[cell.label]:
            difference = text.factor * summary.statistics.mean - published.value
            shown = PageCell(f"{difference:+.{text.digits}f}", difference)
            task = PageCell.of_text("" if names.has_tasks else summary.number.task)
            yield PageRow((*names.stub(cell), task, metric, printed, summary_cell(summary, text), shown))
        if not found[cell.label]:
            yield PageRow((*names.stub(cell), PageCell(), metric, printed, PageCell(), PageCell()), unfinished=True)
    if not cells:
        yield PageRow((*_levels(published, names), PageCell(), metric, printed, PageCell(), PageCell()), unfinished=True)


def _is_of(published: Published, summary: Summary, cell: Cell) -> bool:
    """Return whether a published number is of a number of ours; its levels may name a task, model or scale that is no factor."""
    number = summary.number
    return (number.cell, number.metric) == (cell.label, published.metric) and published.levels.items() <= levels_of(number).items()


def _levels(published: Published, names: CellNames) -> list[PageCell]:
    """Return the cells that identify a published number that is of none of our cells."""
    levels = [published.levels.get(column.head, "") for column in names.columns]
    if not any(levels):
        levels[0] = ", ".join(f"{name} {level}" for name, level in published.levels.items())
    return [PageCell.of_text(level) for level in levels]
