"""Builds the table of a comparison from its cells, their numbers and the published numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress, product

from attrs import evolve

from ticketlab.report.baseline_comparison import PairedComparison
from ticketlab.report.cells import Comparison
from ticketlab.report.comparison_table import OURS, PAPER, Column, ComparisonTable, Row
from ticketlab.report.metric_text import metric_text
from ticketlab.report.numbers import all_numbers
from ticketlab.report.speed_up import SpeedUp
from ticketlab.report.summaries import summarise_numbers
from ticketlab.report.table_entries import Entries
from ticketlab.report.table_marks import hoist_marks, mark_best
from ticketlab.report.table_notes import significance, table_legend, table_notes, table_title, table_warnings
from ticketlab.report.table_places import Levels, find_places
from ticketlab.report.table_spec import TASK, TableSpec, resolve_axes, spec_of


def comparison_table(
    comparison: Comparison,
    spec: TableSpec | None = None,
    *,
    tests: Sequence[PairedComparison] = (),
    speed_ups: Sequence[SpeedUp] = (),
) -> ComparisonTable:
    """Return the table of a comparison, by default as its study specifies it, and otherwise with all factors.

    ``tests`` and ``speed_ups`` are the comparisons with the baseline that it shows; see
    :func:`~ticketlab.report.baseline_comparison.compare_with_baseline` and :func:`~ticketlab.report.speed_up.speed_ups`. A cell that
    measured several models has a row for each, and so has a metric that several stages measured.

    :raises UsageError: the specification names a factor that does not exist.
    """
    numbers = all_numbers(comparison)
    axes = resolve_axes(comparison, numbers, spec or spec_of(comparison))
    summaries = summarise_numbers(number for number in numbers if number.metric in axes.metrics)
    places = find_places(comparison, axes, summaries)
    entries = Entries.of(comparison, places, tests, speed_ups)
    columns = [
        Column((*levels.values(), text.source, text.heading), metric, text, levels)
        for levels, metric in product(places.column_keys(), axes.metrics)
        for text in [metric_text(metric)]
    ]
    columns, rows = _without_empty_columns(columns, [row for key in places.row_keys() for row in _rows(key, columns, entries)])
    has_paper = any(row.published for row in rows)
    stub = (*(factor.name for factor in places.rows), *([""] if has_paper else []))
    if not has_paper:
        rows = [evolve(row, stub=row.stub[:-1]) for row in rows]
    tasks = [place for place, factor in enumerate(places.rows) if TASK in (factor.name, *factor.key.split("+"))]
    rows = mark_best([hoist_marks(row) for row in rows], columns, [", ".join(row.stub[place] for place in tasks) for row in rows])
    return ComparisonTable(
        title=table_title(comparison),
        stub=stub,
        columns=tuple(columns),
        rows=tuple(rows),
        footnotes=tuple(entries.footnotes),
        legend=tuple(table_legend(summaries, tests, speed_ups, comparison.baseline)),
        significance=significance(tests, comparison.baseline) if any(entry.significant for row in rows for entry in row.entries) else "",
        notes=tuple(table_notes(comparison, places.elsewhere)),
        warnings=tuple(table_warnings(comparison)),
    )


def _without_empty_columns(columns: Sequence[Column], rows: Sequence[Row]) -> tuple[list[Column], list[Row]]:
    """Leave out columns without a number whose metric has numbers elsewhere, such as those of another task's challenge set."""
    filled = [
        any(entry.statistics is not None or entry.published is not None for entry in entries)
        for entries in zip(*(row.entries for row in rows), strict=True)
    ] or [False] * len(columns)
    metrics = {column.metric for column, has_number in zip(columns, filled, strict=True) if has_number}
    kept = [has_number or column.metric not in metrics for column, has_number in zip(columns, filled, strict=True)]
    return list(compress(columns, kept)), [evolve(row, entries=tuple(compress(row.entries, kept))) for row in rows]


def _rows(key: Levels, columns: Sequence[Column], entries: Entries) -> Iterator[Row]:
    """Yield the row of our numbers with these levels, and that of the paper's."""
    stub = tuple(key.values())
    ours = tuple(entries.ours(key, column.levels, column.metric) for column in columns)
    if any(entry.cell for entry in ours):
        yield Row((*stub, OURS), ours)
    paper = tuple(entries.paper(key, column.levels, column.metric) for column in columns)
    if any(entry.published is not None for entry in paper):
        yield Row((*stub, PAPER), paper, published=True)
