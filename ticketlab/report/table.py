"""The main tables of a run on a terminal: a line per model, and a line per attack where that reads better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from ticketlab.core.formatting import counted
from ticketlab.report import attack_table
from ticketlab.report.columns import MAJORITY, Column, by_split, costs, scores
from ticketlab.report.layout import EMPTY, Block, Sheet, draw
from ticketlab.report.rows import ResultRow, by_task
from ticketlab.report.rows import rows as rows
from ticketlab.report.statistics import Measure

if TYPE_CHECKING:
    from rich.table import Table


def title(results: Mapping[str, Any], model: str | None = None) -> str:
    """Return what a table of these results is called; ``model`` stands for the one that the results name.

    A reduced scale is named: its numbers are not the paper's; so is a split other than the test, and the size of attacked samples.
    """
    scale = "" if results["scale"] in ("full", "") else f", scale {results['scale']} (reduced)"
    tasks, seeds = ", ".join(results["tasks"]), counted(len(results["seeds"]), "seed")
    return f"{tasks}, model {model or results['model']}, {seeds}{scale}{_examples(results)}"


def _examples(results: Mapping[str, Any]) -> str:
    """Return which split is evaluated, if it is not the test, and how large the samples of the attacks are, of which split."""
    found = rows(results)
    splits = {row.split for row in found if row.split}
    evaluated = f", evaluated on {splits.pop()}" if len(splits) == 1 and splits != {"test"} else ""
    samples = by_split((Measure(0, n=cells.size), cells.split) for row in found for cells in row.attacks)
    sizes = " and ".join(f"a sample of {size} {'example' if size == '1' else 'examples'}{split}" for split, size in samples.items())
    return f"{evaluated}{sizes and f', attacks on {sizes}'}"


def render(rows: Sequence[ResultRow], title: str) -> Table:
    """Return the table of :func:`sheet`, as wide as it comes."""
    return draw(sheet(rows, title))


def sheets(rows: Sequence[ResultRow], title: str) -> list[Sheet]:
    """Return the sheet of the models, that of the attacks, or both.

    One attack of models that were all evaluated is part of the models' sheet; several, or one beside which there is nothing else, have a
    sheet of their own.
    """
    names = {cells.label for row in rows for cells in row.attacks}
    if not names:
        return [sheet(rows, title)]
    evaluated = {_model(row) for row in rows if row.own_split is not None}
    models = sheet([evolve(row, attacks=()) for row in rows if row.own_split is not None or _model(row) not in evaluated], title)
    if not any(cell != EMPTY for block in models.blocks for line in block.lines for cell in line):
        return [attack_table.sheet(rows, title)]
    together = len(names) == 1 and all(row.own_split is not None for row in rows if row.attacks)
    return [sheet(rows, title)] if together else [models, attack_table.sheet(rows, f"{title}: attacks")]


def _model(row: ResultRow) -> tuple[str, ...]:
    return row.run, row.task, row.of, row.checkpoint


def sheet(rows: Sequence[ResultRow], title: str) -> Sheet:
    """Return a sheet with one line per row, and where it is known the majority baseline, a line under the rows of each task.

    Fractions are shown in per cent, with their deviation and interval.
    """
    tasks = by_task(rows)
    lines: list[ResultRow | list[ResultRow]] = list(rows)
    if any(cells.majority is not None for row in rows for cells in (row.own_split, *row.challenges) if cells is not None):
        lines = []
        for same in tasks:
            lines += [*same, same]

    def block(columns: Sequence[Column], note: str = "") -> Block:
        cells = (tuple(one.cell(line) if isinstance(line, ResultRow) else one.baseline(line) for one in columns) for line in lines)
        return Block(tuple(one.head for one in columns), list(cells), note)

    stub = [Column("", lambda row: row.label, lambda same: MAJORITY)]
    if len(tasks) > 1:
        stub.append(Column("Task", lambda row: row.task, lambda same: same[0].task))
    return Sheet(
        title=title,
        stub=block(stub),
        blocks=tuple(block(columns, note) for columns, note in (*scores(rows), *costs(rows)) if columns),
        words=len(stub),
        baselines=frozenset(number for number, line in enumerate(lines) if not isinstance(line, ResultRow)),
    )
