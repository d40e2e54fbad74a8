"""The main tables of a run on a terminal: a line per model, and a line per attack where that reads better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from ticketlab.report import attack_table
from ticketlab.report.columns import MAJORITY, Column, costs, scores
from ticketlab.report.layout import EMPTY, Block, Sheet, draw
from ticketlab.report.rows import Row, by_task
from ticketlab.report.rows import rows as rows

if TYPE_CHECKING:
    from rich.table import Table


def title(results: Mapping[str, Any], model: str | None = None) -> str:
    """Return what a table of these results is called; ``model`` stands for the one that the results name.

    A reduced scale is named: its numbers are not the paper's.
    """
    seeds = results["seeds"]
    scale = "" if results["scale"] == "full" else f", scale {results['scale']} (reduced)"
    return f"{', '.join(results['tasks'])}, model {model or results['model']}, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}{scale}"


def render(rows: Sequence[Row], title: str) -> Table:
    """Return the table of :func:`sheet`, as wide as it comes."""
    return draw(sheet(rows, title))


def sheets(rows: Sequence[Row], title: str) -> list[Sheet]:
    """Return the sheet of the models, that of the attacks, or both.

    One attack is part of the models' sheet; several, or one beside which there is nothing else, have a sheet of their own.
    """
    names = {cells.name for row in rows for cells in row.attacks}
    if not names:
        return [sheet(rows, title)]
    models = sheet([evolve(row, attacks=(), clean=row.own_split.accuracy if row.own_split else None) for row in rows], title)
    if not any(cell != EMPTY for block in models.blocks for line in block.lines for cell in line):
        return [attack_table.sheet(rows, title)]
    return [sheet(rows, title)] if len(names) == 1 else [models, attack_table.sheet(rows, f"{title}: attacks")]


def sheet(rows: Sequence[Row], title: str) -> Sheet:
    """Return a sheet with one line per row; with challenge sets also the majority baseline, a line under the rows of each task.

    Fractions are shown in per cent, with their deviation and interval.
    """
    tasks = by_task(rows)
    lines: list[Row | list[Row]] = list(rows)
    if any(row.challenges for row in rows):
        lines = []
        for same in tasks:
            lines += [*same, same]

    def block(columns: Sequence[Column], note: str = "") -> Block:
        cells = (tuple(one.cell(line) if isinstance(line, Row) else one.baseline(line) for one in columns) for line in lines)
        return Block(tuple(one.head for one in columns), list(cells), note)

    stub = [Column("", lambda row: row.label, lambda same: MAJORITY)]
    if len(tasks) > 1:
        stub.append(Column("Task", lambda row: row.task, lambda same: same[0].task))
    return Sheet(
        title=title,
        stub=block(stub),
        blocks=tuple(block(columns, note) for columns, note in (*scores(rows), *costs(rows)) if columns),
        words=len(stub),
        baselines=frozenset(number for number, line in enumerate(lines) if not isinstance(line, Row)),
    )
