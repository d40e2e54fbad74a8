"""The table of attacks: one line per model and attack, so that the table does not widen with the number of attacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve

from ticketlab.report.attack_summary import AttackSummary
from ticketlab.report.layout import ColumnGroup, TableData
from ticketlab.report.main_table_columns import measurement_note
from ticketlab.report.number_format import number_with_interval, percent_with_interval
from ticketlab.report.rows import ResultRow, group_by_task

Cell = Callable[[AttackSummary], str]


def attack_table(rows: Sequence[ResultRow], title: str) -> TableData:
    """Return a table with one line per row and attack. Clean % is measured on the attacked sample, like the other numbers.

    The column of row labels is omitted if all rows have the same label and the title contains it.
    """
    lines = [(row, attack) for row in rows for attack in row.attacks]
    attacks = [attack for _, attack in lines]
    stub: dict[str, Callable[[ResultRow, AttackSummary], str]] = {
        "": lambda row, _: row.label,
        "Task": lambda row, _: row.task,
        "Attack": lambda _, attack: attack.label,
    }
    labels = {row.label for row, _ in lines}
    if len(labels) == 1 and labels.pop() in title:
        del stub[""]
    if len(group_by_task(rows)) == 1:
        del stub["Task"]
    names = ColumnGroup(tuple(stub), [tuple(cell(row, attack) for cell in stub.values()) for row, attack in lines])
    note = measurement_note([evolve(row, clean=None, challenges=()) for row in rows])
    return TableData(title, names, tuple(_column_groups(attacks, note)), len(stub))


def _column_groups(attacks: Sequence[AttackSummary], note: str) -> list[ColumnGroup]:
    """Return each column as a separate group, so that a narrow terminal can break the table after any column."""
    columns: dict[str, Cell] = {
        "Clean %": lambda attack: percent_with_interval(attack.clean),
        "Aua %": lambda attack: percent_with_interval(attack.aua),
        "Suc %": lambda attack: percent_with_interval(attack.suc),
        "#Query": lambda attack: number_with_interval(attack.queries),
    }
    if any(attack.words for attack in attacks):
        columns["Words %"] = lambda attack: percent_with_interval(attack.words)
    if any(attack.similarity for attack in attacks):
        columns["Similarity"] = lambda attack: number_with_interval(attack.similarity, digits=3)
    if any(attack.errors for attack in attacks):
        columns["Errors"] = lambda attack: str(attack.errors)
    if any(attack.timeouts for attack in attacks):
        columns["Timeouts"] = lambda attack: str(attack.timeouts)
    return [
        ColumnGroup((head,), [(cell(attack),) for attack in attacks], "" if index else note)
        for index, (head, cell) in enumerate(columns.items())
    ]
