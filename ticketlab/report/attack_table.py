"""The table of attacks: a line for each model and attack, so that it is as narrow with ten attacks as with one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve

from ticketlab.report.attack_cells import AttackCells
from ticketlab.report.cells import number, percent
from ticketlab.report.columns import how_measured
from ticketlab.report.layout import Block, Sheet
from ticketlab.report.rows import ResultRow, by_task

Cell = Callable[[AttackCells], str]


def sheet(rows: Sequence[ResultRow], title: str) -> Sheet:
    """Return a sheet with one line per row and attack. Clean % is of the attacked sample, as the other numbers are.

    The rows' name is left out where they have one alone and the title says it.
    """
    lines = [(row, cells) for row in rows for cells in row.attacks]
    attacks = [cells for _, cells in lines]
    stub: dict[str, Callable[[ResultRow, AttackCells], str]] = {
        "": lambda row, _: row.label,
        "Task": lambda row, _: row.task,
        "Attack": lambda _, cells: cells.label,
    }
    labels = {row.label for row, _ in lines}
    if len(labels) == 1 and labels.pop() in title:
        del stub[""]
    if len(by_task(rows)) == 1:
        del stub["Task"]
    named = Block(tuple(stub), [tuple(cell(row, cells) for cell in stub.values()) for row, cells in lines])
    return Sheet(title, named, tuple(_blocks(attacks, how_measured([evolve(row, clean=None, challenges=()) for row in rows]))), len(stub))


def _blocks(attacks: Sequence[AttackCells], note: str) -> list[Block]:
    """Return a block for each column: any of them may be the last that a terminal has room for."""
    columns: dict[str, Cell] = {
        "Clean %": lambda cells: percent(cells.clean),
        "Aua %": lambda cells: percent(cells.aua),
        "Suc %": lambda cells: percent(cells.suc),
        "#Query": lambda cells: number(cells.queries),
    }
    if any(cells.words for cells in attacks):
        columns["Words %"] = lambda cells: percent(cells.words)
    if any(cells.similarity for cells in attacks):
        columns["Similarity"] = lambda cells: number(cells.similarity, digits=3)
    if any(cells.errors for cells in attacks):
        columns["Errors"] = lambda cells: str(cells.errors)
    if any(cells.timeouts for cells in attacks):
        columns["Timeouts"] = lambda cells: str(cells.timeouts)
    return [
        Block((head,), [(cell(cells),) for cells in attacks], "" if index else note) for index, (head, cell) in enumerate(columns.items())
    ]
