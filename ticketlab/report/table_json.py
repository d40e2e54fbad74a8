"""A comparison's table as data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from ticketlab.report.comparison_table import ComparisonTable, Entry
from ticketlab.report.verdicts import TaskVerdict, Verdict
from ticketlab.statistics.paired import PairedDifference


def json_table(table: ComparisonTable) -> dict[str, Any]:
    """Return the table with unrounded numbers: fractions are between 0 and 1, published numbers as printed."""
    return {
        "title": table.title,
        "columns": [{"metric": column.metric, "heads": list(column.heads), "levels": dict(column.levels)} for column in table.columns],
        "rows": [
            {
                "levels": dict(zip((head or "source" for head in table.stub), row.stub, strict=True)),
                "published": row.published,
                "entries": [_entry(entry, table, row.marks) for entry in row.entries],
            }
            for row in table.rows
        ],
        "legend": list(table.legend),
        "significance": table.significance,
        "notes": list(table.notes),
        "warnings": list(table.warnings),
        **({"verdicts": json_verdicts(table.verdicts)} if table.verdicts else {}),
    }


def json_verdicts(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return the verdicts on hypotheses, each with what its study file says and the numbers of its test on each task."""
    return [
        {
            **verdict.hypothesis.to_table(),
            "verdict": verdict.decision,
            "tests": verdict.tests,
            "tasks": [_on_task(task) for task in verdict.tasks],
        }
        for verdict in verdicts
    ]


def _on_task(task: TaskVerdict) -> dict[str, Any]:
    """Return a verdict on a task with its numbers, which are null if something was not measured."""
    numbers = task.test.numbers
    found = dict.fromkeys(field.name for field in attrs.fields(PairedDifference)) if numbers is None else attrs.asdict(numbers)
    found = {"of_value": found.pop("first"), "than_value": found.pop("second"), **found}
    about = {"task": task.test.task, "missing": task.test.missing, "notes": task.test.notes}
    return {**about, **found, "p_corrected": task.p_corrected, "verdict": task.decision, "reason": task.reason}


def _entry(entry: Entry, table: ComparisonTable, marks: tuple[int, ...]) -> dict[str, Any]:
    statistics = entry.statistics
    found: dict[str, Any] = {"cell": entry.cell}
    if statistics is not None:
        interval = list(statistics.interval) if statistics.interval else None
        found |= {"mean": statistics.mean, "deviation": statistics.deviation, "interval": interval, "seeds": statistics.seeds}
        found |= {"examples": list(entry.examples) if entry.examples else None, "best": entry.best, "p": entry.p}
    if entry.published is not None:
        found["published"] = entry.published
    if entry.state:
        found["state"] = entry.state
    if entry.marks or marks:
        found["notes"] = [table.footnotes[mark] for mark in dict.fromkeys((*marks, *entry.marks))]
    return found
