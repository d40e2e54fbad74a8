"""A comparison's table as csv: one line per row, with means, and deviations where there are any, as numbers."""

from __future__ import annotations

import csv
import io

from ticketlab.report.comparison_table import ComparisonTable, Entry
from ticketlab.report.csv_text import csv_cell
from ticketlab.report.metric_text import MetricText

DIGITS = 6


def csv_table(table: ComparisonTable) -> str:
    """Return the table in the units of its headings. The last column has the footnotes of the row.

    Text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    deviations = [any(_deviation(row.entries[number]) is not None for row in table.rows) for number in range(len(table.columns))]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = [*(head or "source" for head in table.stub)]
    for column, has_deviation in zip(table.columns, deviations, strict=True):
        name = " ".join(head for head in column.heads if head)
        heads += [name, f"{name} deviation"] if has_deviation else [name]
    writer.writerow([csv_cell(head) for head in [*heads, "notes"]])
    for row in table.rows:
        cells: list[str | float | None] = [*row.stub]
        for entry, column, has_deviation in zip(row.entries, table.columns, deviations, strict=True):
            cells.append(_mean(entry, column.text))
            cells += [_scaled(_deviation(entry), column.text)] if has_deviation else []
        marks = dict.fromkeys([*row.marks, *(mark for entry in row.entries for mark in entry.marks)])
        writer.writerow([csv_cell(cell) for cell in [*cells, "; ".join(table.footnotes[mark] for mark in marks)]])
    return text.getvalue()


def _mean(entry: Entry, text: MetricText) -> str | float | None:
    """Return the mean, the published number, or the state of an entry without a number."""
    if entry.published is not None:
        return entry.published
    return entry.state if entry.statistics is None else _scaled(entry.statistics.mean, text)


def _deviation(entry: Entry) -> float | None:
    return entry.statistics.deviation if entry.statistics else None


def _scaled(value: float | None, text: MetricText) -> float | None:
    return None if value is None else round(text.factor * value, DIGITS)
