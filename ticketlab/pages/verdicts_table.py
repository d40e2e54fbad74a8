"""The table of the verdicts on a study's hypotheses."""

from __future__ import annotations

from collections.abc import Sequence

from ticketlab.pages.data_table import PageCell, PageColumn, PageRow, PageTable, Remarks, without_empty_columns
from ticketlab.pages.difference_cells import difference_cells
from ticketlab.pages.number_cells import p_cell
from ticketlab.report.verdicts import SHOWN, TaskVerdict, Verdict

NOTE = (
    "As stated in the study file. A hypothesis is shown if it is on every task. Differences are paired by seed and example, with "
    "their 95 % interval; p values are Holm's for all tests of this table together."
)


def verdicts_table(verdicts: Sequence[Verdict]) -> PageTable | None:
    """Return the table with a row for each hypothesis and task, or None without hypotheses."""
    if not verdicts:
        return None
    remarks = Remarks()
    rows = [_row(verdict, task, remarks) for verdict in verdicts for task in verdict.tasks]
    heads = [
        PageColumn("Claim", numeric=False),
        PageColumn("Comparison", numeric=False),
        PageColumn("Verdict", numeric=False, filter=True),
        PageColumn("Task", numeric=False, filter=True),
        *(PageColumn(head) for head in ("Value", "Compared with", "Difference", "p", "Corrected p")),
        PageColumn("Test", numeric=False),
        PageColumn("On the task", numeric=False, filter=True),
        PageColumn("Remarks"),
    ]
    return PageTable("hypotheses", "Hypotheses", *without_empty_columns(heads, rows), NOTE, tuple(remarks.texts))


def _row(verdict: Verdict, task: TaskVerdict, remarks: Remarks) -> PageRow:
    text, test = verdict.hypothesis.text, task.test
    several = len(verdict.tasks) > 1
    return PageRow(
        (
            PageCell.of_text(verdict.hypothesis.claim),
            PageCell.of_text(verdict.hypothesis.comparison),
            PageCell(verdict.decision, verdict.decision, best=verdict.decision == SHOWN),
            PageCell.of_text(test.task),
            *difference_cells(test.numbers, text),
            p_cell(task.p_corrected, mark=True),
            PageCell.of_text(test.numbers.test if test.numbers else ""),
            PageCell.of_text(task.decision if several else ""),
            remarks.cell([task.reason, *test.notes]),
        )
    )
