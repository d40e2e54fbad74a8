"""The table of the verdicts on a study's hypotheses, as texts that the renderers lay out, and the lines under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from ticketlab.core.formatting import counted
from ticketlab.report.hypothesis import Hypothesis
from ticketlab.report.layout import EMPTY
from ticketlab.report.metric_text import MetricText
from ticketlab.report.table_notes import SIGNIFICANT
from ticketlab.report.verdicts import TaskVerdict, Verdict

HEADS = ("Claim", "Comparison", "Task", "Difference", "95 % interval", "p corrected", "Verdict")
NUMBERS = ("Difference", "95 % interval", "p corrected")
"""The columns of numbers."""
EVERY_TASK = "every task"


@frozen
class VerdictTable:
    """The texts of the table. ``heads`` are those of :data:`HEADS`, without the task if no hypothesis has several."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def verdict_table(verdicts: Sequence[Verdict]) -> VerdictTable:
    """Return the table: a row for each hypothesis and, if it is tested on several tasks, one for each of them below."""
    rows = [row for verdict in verdicts for row in _rows(verdict)]
    tasks = any(len(verdict.tasks) > 1 for verdict in verdicts)
    kept = [number for number, head in enumerate(HEADS) if head != "Task" or tasks]
    return VerdictTable(
        tuple(HEADS[number] for number in kept), tuple(tuple(row[number] for number in kept) for row in rows), tuple(_notes(verdicts))
    )


def difference_text(value: float, text: MetricText) -> str:
    """Return a difference with its sign, in the unit of the metric; fractions in points."""
    shown = text.number(value)
    return f"+{shown}" if value > 0 and shown.strip("0.,") else shown


def interval_text(interval: tuple[float, float] | None, text: MetricText) -> str:
    """Return an interval: ``+1.2 to +8.8``."""
    return EMPTY if interval is None else " to ".join(difference_text(bound, text) for bound in interval)


def p_text(p: float | None) -> str:
    """Return a p value as text, with as many digits as show on which side of the level of significance it is."""
    if p is None:
        return EMPTY
    if p < 0.001:
        return "< 0.001"
    texts = (f"{p:.{digits}f}" for digits in range(3, 17))
    return next((text for text in texts if (float(text) < SIGNIFICANT) == (p < SIGNIFICANT)), repr(p))


def _rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    claim, comparison = verdict.hypothesis.claim, verdict.hypothesis.comparison
    if len(verdict.tasks) == 1:
        yield (claim, comparison, *_numbers(verdict.hypothesis, verdict.tasks[0]))
        return
    yield claim, comparison, EVERY_TASK, EMPTY, EMPTY, EMPTY, verdict.decision
    yield from (("", "", *_numbers(verdict.hypothesis, task)) for task in verdict.tasks)


def _numbers(hypothesis: Hypothesis, task: TaskVerdict) -> tuple[str, ...]:
    numbers, text = task.test.numbers, hypothesis.text
    difference, interval = (difference_text(numbers.difference, text), interval_text(numbers.interval, text)) if numbers else (EMPTY, EMPTY)
    return task.test.task or EMPTY, difference, interval, p_text(task.p_corrected), task.decision


def _notes(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield how the verdicts were made, their reasons, and the limits of the tests."""
    tests = [task.test for verdict in verdicts for task in verdict.tasks]
    made = [(test, test.numbers.test) for test in tests if test.numbers and test.numbers.test]
    if made:
        kinds = " or ".join(dict.fromkeys(kind for _, kind in made))
        points = "; fractions in percentage points" if any(verdict.hypothesis.text.factor == 100 for verdict in verdicts) else ""
        yield f"verdicts: {kinds}; Holm's correction for {counted(len(tests), 'test')} of the hypotheses{points}"
    several = {verdict.hypothesis.claim for verdict in verdicts if len(verdict.tasks) > 1}
    for verdict in verdicts:
        for task in verdict.tasks:
            if task.reason:
                where = f" ({task.test.task})" if verdict.hypothesis.claim in several and task.test.task else ""
                yield f"{task.decision}: {verdict.hypothesis.claim.rstrip('.')}{where}: {task.reason}"
    for note in dict.fromkeys(note for test, _ in made for note in test.notes):
        number = sum(note in test.notes for test, _ in made)
        yield note if number == len(made) else f"{number} of the {counted(len(made), 'test')}: {note}"
