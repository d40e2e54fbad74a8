"""The table of a comparison with its baseline: tests and speed-ups included."""

from __future__ import annotations

from attrs import evolve

from ticketlab.report.build_table import comparison_table
from ticketlab.report.cells import Comparison
from ticketlab.report.compared_metrics import compared_with_baseline
from ticketlab.report.comparison_table import ComparisonTable
from ticketlab.report.table_spec import TableSpec


def compared_table(comparison: Comparison, spec: TableSpec | None = None) -> ComparisonTable:
    """Return the table of a comparison. If it has a baseline, the table marks what differs from it, and may have speed-ups.

    Nothing is compared if a cell measured several models; a note says so.

    :raises UsageError: the specification names an unknown factor, or the baseline is not the label of a cell or level.
    """
    tests, ratios, problem = compared_with_baseline(comparison, spec)
    table = comparison_table(comparison, spec, tests=tests, speed_ups=ratios)
    return evolve(table, notes=(*table.notes, f"no comparison with the baseline: {problem}")) if problem else table
