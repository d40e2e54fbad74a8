"""The tables of differences: each cell against its baseline, and the effect of each factor."""

from __future__ import annotations

from collections.abc import Sequence

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted, verb
from ticketlab.pages.cell_names import CellNames
from ticketlab.pages.data_table import PageCell, PageColumn, PageRow, PageTable, Remarks, without_empty_columns
from ticketlab.pages.difference_cells import difference_cells
from ticketlab.pages.number_cells import p_cell, statistics_cell
from ticketlab.report.baseline_comparison import PairedComparison
from ticketlab.report.cells import RUN, Cell, Comparison
from ticketlab.report.main_effects import LevelEffect, MainEffect, main_effects
from ticketlab.report.metric_text import metric_text

BASELINE_NOTE = (
    "Differences are paired by seed and example, and in brackets is their 95 % interval. The corrected p values are Holm's for all "
    "comparisons of this table together, each of the same measurements once; those below 0.05 are bold."
)
EFFECTS_NOTE = (
    "Means over all cells of a level, ± the deviation over seeds. Differences are to the reference level, over the pairs of cells that "
    "differ in this factor alone, with the 95 % interval over seeds. The p values are of paired t tests over seeds, and not corrected."
)


def baseline_table(comparison: Comparison, tests: Sequence[PairedComparison], names: CellNames) -> PageTable | None:
    """Return the table of the tests of each cell against its baseline, or None if there are none."""
    remarks = Remarks()
    cells = {cell.label: cell for cell in comparison.cells}
    rows = [_paired_row(test, cells[test.cell], names, remarks) for test in tests if test.baseline]
    heads = [
        *names.columns,
        *(PageColumn(head, numeric=False, filter=True) for head in ("Compared with", "Task", "Metric")),
        *(PageColumn(head) for head in ("Value", "Baseline", "Difference", "p", "Corrected p")),
        PageColumn("Test", numeric=False),
        PageColumn("Remarks"),
    ]
    if not rows:
        return None
    columns, kept = without_empty_columns(heads, rows)
    return PageTable("differences", "Comparison with the baseline", columns, kept, BASELINE_NOTE, tuple(remarks.texts))


def effects_table(comparison: Comparison, metrics: Sequence[str]) -> PageTable | None:
    """Return the table of the levels of each factor and their effect on each metric, or None if no factor varies.

    A metric that a cell measured of several models is left out, and a remark says so.
    """
    remarks = Remarks()
    rows: list[PageRow] = []
    for metric in metrics:
        try:
            effects = main_effects(comparison, metric)
        except UsageError as problem:
            remarks.cell([str(problem)])
            continue
        rows += [_effect_row(effect, level, remarks) for effect in effects if effect.factor != RUN for level in effect.levels]
    heads = [
        *(PageColumn(head, numeric=False, filter=True) for head in ("Factor", "Level", "Metric")),
        *(PageColumn(head) for head in ("Cells", "Mean", "Difference", "p", "Pairs", "Remarks")),
    ]
    if not rows and not remarks.texts:
        return None
    note = EFFECTS_NOTE if rows else ""
    return PageTable("effects", "Main effects", *without_empty_columns(heads, rows), note, tuple(remarks.texts))


def _paired_row(paired: PairedComparison, cell: Cell, names: CellNames, remarks: Remarks) -> PageRow:
    text = metric_text(paired.metric)
    same = f"the same measurements as those of {paired.same_as}, which count once in the correction" if paired.same_as else ""
    return PageRow(
        (
            *names.stub(cell),
            PageCell.of_text(paired.baseline),
            PageCell.of_text("" if names.has_tasks else paired.task),
            PageCell.of_text(paired.metric),
            *difference_cells(paired.numbers, text, unpaired=paired.unpaired),
            p_cell(paired.p_corrected, mark=True),
            PageCell.of_text(paired.numbers.test if paired.numbers else ""),
            remarks.cell([paired.reason, *paired.notes, same]),
        )
    )


def _effect_row(effect: MainEffect, level: LevelEffect, remarks: Remarks) -> PageRow:
    text = metric_text(effect.metric)
    is_reference = level.level == effect.reference
    unpaired = f"{counted(level.unpaired, 'cell')} of the level {verb(level.unpaired, 'has', 'have')} no partner" if level.unpaired else ""
    return PageRow(
        (
            PageCell.of_text(effect.factor),
            PageCell.of_text(level.level, below="reference" if is_reference else ""),
            PageCell.of_text(effect.metric),
            PageCell(str(level.cells), level.cells),
            statistics_cell(level.mean, text),
            statistics_cell(level.difference, text, signed=True),
            p_cell(level.p),
            PageCell(str(level.pairs), level.pairs) if level.pairs else PageCell(),
            remarks.cell([unpaired, *(effect.notes if is_reference else ())]),
        )
    )
