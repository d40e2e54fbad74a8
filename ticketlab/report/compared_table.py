"""The table of a comparison with its baseline: tests, speed-ups and the verdicts on hypotheses included."""

from __future__ import annotations

from attrs import evolve

from ticketlab.report.build_table import comparison_table
from ticketlab.report.cells import Comparison
from ticketlab.report.compared_metrics import compared_with_baseline
from ticketlab.report.comparison_table import ComparisonTable
from ticketlab.report.table_spec import TableSpec
from ticketlab.report.verdicts import verdicts


def compared_table(comparison: Comparison, spec: TableSpec | None = None) -> ComparisonTable:
    """Return the table of a comparison, with the verdicts on its hypotheses.

    If it has a baseline, the table marks what differs from it, and may have speed-ups.
    Nothing is compared if a cell measured several models; a note says so.

    :raises UsageError: the specification names an unknown factor, or the baseline is not the label of a cell or level.
    """
    tests, ratios, problem = compared_with_baseline(comparison, spec)
    table = comparison_table(comparison, spec, tests=tests, speed_ups=ratios)
    notes = (*table.notes, f"no comparison with the baseline: {problem}") if problem else table.notes
    return evolve(table, notes=notes, verdicts=verdicts(comparison))
