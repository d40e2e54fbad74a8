"""The table of a comparison: its rows, columns and numbers, as a structure that the renderers turn into text.

:func:`comparison_table` makes it; :mod:`ticketlab.report.table_text`, ``table_markdown``, ``table_latex`` and ``table_csv`` render it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from ticketlab.report.layout import EMPTY
from ticketlab.report.metric_text import MetricText
from ticketlab.report.verdicts import Verdict
from ticketlab.statistics.seeds import SeedStatistics

FAILED = "failed"
UNFINISHED = "not run"
UNAVAILABLE = "not computed"
OURS = "ours"
PAPER = "paper"


@frozen(kw_only=True)
class Entry:
    """One entry of the table.

    ``statistics`` are over the seeds, ``examples`` the smallest and the largest number of examples behind a seed's number, and ``cell`` the
    label of the cell. An entry without a number has a ``state``: :data:`FAILED`, :data:`UNFINISHED`, :data:`UNAVAILABLE`, or empty where
    there is nothing to measure. ``published`` is a number of the paper, as printed. ``best``: no number of its column (and task) is
    better, as shown; those that are not ``comparable`` do not take part. ``p`` is the corrected p value of the difference to the baseline,
    None without a test. ``marks`` refer to the table's footnotes.
    """

    statistics: SeedStatistics | None = None
    examples: tuple[int, int] | None = None
    cell: str = ""
    state: str = ""
    published: float | None = None
    best: bool = False
    comparable: bool = True
    p: float | None = None
    significant: bool = False
    marks: tuple[int, ...] = ()


@frozen
class Column:
    """A column of numbers. ``heads`` are its headings from top to bottom: the levels of the columns' factors, the source, the measure."""

    heads: tuple[str, ...]
    metric: str
    text: MetricText
    levels: Mapping[str, str] = field(factory=dict)


@frozen
class Row:
    """A line of the table: the levels of the rows' factors and its entries. ``published``: its numbers are those of the paper.

    ``marks`` refer to footnotes about all its entries.
    """

    stub: tuple[str, ...]
    entries: tuple[Entry, ...]
    published: bool = False
    marks: tuple[int, ...] = ()


@frozen
class ComparisonTable:
    """A table. ``stub`` are the headings above the levels of the rows; with published numbers the last of them tells ours and the paper's.

    ``footnotes`` are referred to by their index. ``legend`` explains what the numbers are, and ``significance`` what the marked ones differ
    from. ``notes`` are sentences about the comparison, and ``warnings`` those of its runs. ``verdicts`` are those on the hypotheses of the
    study, which have a table of their own below. All texts are plain; renderers escape them.
    """

    title: str
    stub: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    footnotes: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()
    significance: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    @property
    def has_best(self) -> bool:
        """Whether a number is marked as the best."""
        return any(entry.best for row in self.rows for entry in row.entries)


def mean_text(entry: Entry, column: Column) -> str:
    """Return the text of an entry without its deviation: a number in the column's unit, the state, or a dash."""
    if entry.published is not None:
        return published_text(entry.published, column.text)
    if entry.statistics is None:
        return entry.state or EMPTY
    return column.text.number(entry.statistics.mean)


def deviation_text(entry: Entry, column: Column) -> str:
    """Return the deviation over seeds as text; empty for fewer than two seeds."""
    deviation = entry.statistics.deviation if entry.statistics else None
    return "" if deviation is None else column.text.number(deviation)


def published_text(value: float, text: MetricText) -> str:
    """Return a published number with the digits that were printed, and at least those of the column."""
    printed = f"{value:.10f}".rstrip("0")
    digits = max(len(printed.partition(".")[2]), min(text.digits, 1))
    return f"{value:.{digits}f}"


def footnote_letter(index: int) -> str:
    """Return the letter of a footnote: a to z, then aa, ab, ..."""
    letters = ""
    number = index + 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return letters


def letters_of(marks: Sequence[int]) -> str:
    """Return the letters of several footnotes: ``a,c``."""
    return ",".join(footnote_letter(mark) for mark in marks)
