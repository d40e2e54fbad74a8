"""Marks of a table's entries: the best number of a column, and footnotes that concern a whole row."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from ticketlab.report.comparison_table import Column, Row


def mark_best(rows: Sequence[Row], columns: Sequence[Column], groups: Sequence[object]) -> list[Row]:
    """Return the rows with the best numbers of each column marked, separately for each of the ``groups`` that rows belong to.

    Numbers are compared as they are shown: those that look equal are all the best, unless all of them look equal. Published numbers do not
    take part, and neither do metrics that do not judge and entries that are not comparable.
    """
    best: set[tuple[int, int]] = set()
    for number, column in enumerate(columns):
        for group in dict.fromkeys(groups):
            compared = {line: row.entries[number] for line, row in enumerate(rows) if groups[line] == group and not row.published}
            shown = {
                line: round(column.text.factor * entry.statistics.mean, column.text.digits)
                for line, entry in compared.items()
                if entry.statistics is not None and entry.comparable
            }
            if column.text.better and len(set(shown.values())) > 1:
                target = max(shown.values()) if column.text.better > 0 else min(shown.values())
                best |= {(line, number) for line, value in shown.items() if value == target}
    return [
        evolve(row, entries=tuple(evolve(entry, best=(line, number) in best) for number, entry in enumerate(row.entries)))
        for line, row in enumerate(rows)
    ]


def hoist_marks(row: Row) -> Row:
    """Return the row with the footnotes that all its numbers have moved to the row itself."""
    marked = [set(entry.marks) for entry in row.entries if entry.statistics is not None or entry.state]
    shared = set.intersection(*marked) if marked else set()
    entries = (evolve(entry, marks=tuple(mark for mark in entry.marks if mark not in shared)) for entry in row.entries)
    return evolve(row, entries=tuple(entries), marks=tuple(sorted(shared)))
