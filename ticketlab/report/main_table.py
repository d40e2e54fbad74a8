"""The main table of a run: one line per model, with a single attack as columns, and several attacks in a separate table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from ticketlab.core.formatting import counted
from ticketlab.report.attack_table import attack_table
from ticketlab.report.layout import EMPTY, ColumnGroup, TableData
from ticketlab.report.main_table_columns import MAJORITY, TableColumn, cost_columns, examples_by_split, number_columns, score_columns
from ticketlab.report.rows import ResultRow, group_by_task, result_rows
from ticketlab.report.statistics import Measure


def table_title(results: Mapping[str, Any], model: str | None = None) -> str:
    """Return the title of a table of these results. ``model`` replaces the model's name in the results.

    The title names a reduced scale, since its numbers are not comparable with the paper's. It also names an evaluated split other than the
    test split, and the sizes of attacked samples.
    """
    scale = "" if results["scale"] in ("full", "") else f", scale {results['scale']} (reduced)"
    tasks, seeds = ", ".join(results["tasks"]), counted(len(results["seeds"]), "seed")
    return f"{tasks}, model {model or results['model']}, {seeds}{scale}{_examples(results)}"


def _examples(results: Mapping[str, Any]) -> str:
    """Return the evaluated split, unless it is the test split, and the size and split of the attacked samples."""
    rows = result_rows(results)
    splits = {row.split for row in rows if row.split}
    evaluated = f", evaluated on {splits.pop()}" if len(splits) == 1 and splits != {"test"} else ""
    samples = examples_by_split((Measure(0, n=attack.size), attack.split) for row in rows for attack in row.attacks)
    sizes = " and ".join(f"a sample of {size} {'example' if size == '1' else 'examples'}{split}" for split, size in samples.items())
    return f"{evaluated}{sizes and f', attacks on {sizes}'}"


def main_tables(rows: Sequence[ResultRow], title: str) -> list[TableData]:
    """Return the table of the models, that of the attacks, or both.

    If there is one attack and every attacked model was evaluated, its results are columns of the models' table. Several attacks get a
    separate table, and so does a single attack if there are no other results.
    """
    names = {attack.label for row in rows for attack in row.attacks}
    if not names:
        return [model_table(rows, title)]
    evaluated = {_model(row) for row in rows if row.own_split is not None}
    unattacked = [evolve(row, attacks=()) for row in rows if row.own_split is not None or _model(row) not in evaluated]
    models = model_table(unattacked, title)
    if not any(cell != EMPTY for group in models.groups for line in group.lines for cell in line):
        return [attack_table(rows, title)]
    together = len(names) == 1 and all(row.own_split is not None for row in rows if row.attacks)
    return [model_table(rows, title)] if together else [models, attack_table(rows, f"{title}: attacks")]


def _model(row: ResultRow) -> tuple[str, ...]:
    return row.run, row.task, row.of, row.checkpoint


def model_table(rows: Sequence[ResultRow], title: str) -> TableData:
    """Return a table with one line per row and, where the majority baseline is known, a line for it under the rows of each task.

    Fractions are shown as percentages, with their deviation and interval.
    """
    tasks = group_by_task(rows)
    lines: list[ResultRow | list[ResultRow]] = list(rows)
    if any(summary.majority is not None for row in rows for summary in (row.own_split, *row.challenges) if summary is not None):
        lines = []
        for same_task in tasks:
            lines += [*same_task, same_task]

    def group(columns: Sequence[TableColumn], note: str = "") -> ColumnGroup:
        cells = (tuple(column.cell(line) if isinstance(line, ResultRow) else column.baseline(line) for column in columns) for line in lines)
        return ColumnGroup(tuple(column.head for column in columns), list(cells), note)

    stub = [TableColumn("", lambda row: row.label, lambda same_task: MAJORITY)]
    if len(tasks) > 1:
        stub.append(TableColumn("Task", lambda row: row.task, lambda same_task: same_task[0].task))
    return TableData(
        title=title,
        stub=group(stub),
        groups=tuple(
            group(columns, note) for columns, note in (*score_columns(rows), *number_columns(rows), *cost_columns(rows)) if columns
        ),
        text_columns=len(stub),
        baselines=frozenset(number for number, line in enumerate(lines) if not isinstance(line, ResultRow)),
    )
