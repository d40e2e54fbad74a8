"""A comparison's table in Markdown (GitHub's tables)."""

from __future__ import annotations

from collections.abc import Sequence

from ticketlab.export.markdown import escape
from ticketlab.report.comparison_table import Column, ComparisonTable, Entry, Row, deviation_text, footnote_letter, letters_of, mean_text
from ticketlab.report.layout import EMPTY
from ticketlab.report.verdict_table import NUMBERS, VerdictTable, verdict_table

SIGNIFICANT = "†"


def markdown_table(table: ComparisonTable) -> str:
    """Return the table with its title, the best numbers in bold, and its legend, footnotes and notes as a list."""
    stub = [escape(head) or " " for head in table.stub]
    heads = [escape(" ".join(head for head in column.heads if head)) for column in table.columns]
    lines = [
        f"**{escape(table.title)}**",
        "",
        _line([*stub, *heads]),
        _line([*(["---"] * len(stub)), *(["---:"] * len(heads))]),
        *(_line([*_stub(row), *map(_entry, row.entries, table.columns)]) for row in table.rows),
    ]
    notes = [
        *map(escape, table.legend),
        *(["bold: best of its column"] if table.has_best else []),
        *([f"{SIGNIFICANT} {escape(table.significance)}"] if table.significance else []),
        *(f"<sup>{footnote_letter(number)}</sup> {escape(text)}" for number, text in enumerate(table.footnotes)),
        *map(escape, (*table.notes, *table.warnings)),
    ]
    return "\n".join([*lines, *_list(notes), *(_verdicts(verdict_table(table.verdicts)) if table.verdicts else [])]) + "\n"


def _list(notes: Sequence[str]) -> list[str]:
    return ["", *(f"- {note}" for note in notes)] if notes else []


def _verdicts(verdicts: VerdictTable) -> list[str]:
    """Return the lines of the table of hypotheses, with the notes on it."""
    return [
        "",
        _line([escape(head) for head in verdicts.heads]),
        _line(["---:" if head in NUMBERS else "---" for head in verdicts.heads]),
        *(_line([escape(text) or " " for text in row]) for row in verdicts.rows),
        *_list([escape(note) for note in verdicts.notes]),
    ]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _stub(row: Row) -> list[str]:
    levels = [escape(level or EMPTY) for level in row.stub]
    return [*levels[:-1], levels[-1] + _letters(row.marks)] if levels else []


def _entry(entry: Entry, column: Column) -> str:
    mean, deviation = mean_text(entry, column), deviation_text(entry, column)
    mean = f"**{mean}**" if entry.best else mean
    return f"{mean}{f' ± {deviation}' if deviation else ''}{SIGNIFICANT if entry.significant else ''}{_letters(entry.marks)}"


def _letters(marks: tuple[int, ...]) -> str:
    return f"<sup>{letters_of(marks)}</sup>" if marks else ""
