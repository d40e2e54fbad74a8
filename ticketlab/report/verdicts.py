"""The verdicts on the hypotheses of a study: shown, refuted, undecided or not run, from the tests of all of them together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from attrs import frozen

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.hypothesis import Hypothesis
from ticketlab.report.hypothesis_cells import pair_cells
from ticketlab.report.hypothesis_test import HypothesisTest, compare_on_task
from ticketlab.report.metric_values import metric_values
from ticketlab.statistics.holm import holm
from ticketlab.statistics.paired import PairedDifference
from ticketlab.statistics.power import ALPHA, POWER, seeds_needed, smallest_detectable

Decision = Literal["shown", "refuted", "undecided", "not run"]
SHOWN: Decision = "shown"
REFUTED: Decision = "refuted"
UNDECIDED: Decision = "undecided"
NOT_RUN: Decision = "not run"
PRECEDENCE = (REFUTED, NOT_RUN, UNDECIDED, SHOWN)
"""A hypothesis is about every task: it has the first of these decisions that one of its tasks has."""
TASK = "task"
LARGER = 1.5
"""If the standard error is larger than that of the seeds by this factor, the choice of the examples makes most of it."""


@frozen(kw_only=True)
class TaskVerdict:
    """The decision on one task, from its ``test`` and the p value corrected for all tests of the study's hypotheses.

    ``reason`` says by what it was refuted, why it is not decided and what would decide it, or what has not been run.
    """

    test: HypothesisTest
    decision: Decision
    p_corrected: float | None = None
    reason: str = ""


@frozen(kw_only=True)
class Verdict:
    """The verdict on a hypothesis: ``shown`` if it is on every task. ``tests`` is the number of tests that p values are corrected for."""

    hypothesis: Hypothesis
    decision: Decision
    tasks: tuple[TaskVerdict, ...]
    tests: int


def verdicts(comparison: Comparison) -> tuple[Verdict, ...]:
    """Return the verdict on each hypothesis of a comparison.

    p values are corrected by Holm's method for the tests of all hypotheses on all tasks. A test that could not be made counts as one, so
    that no verdict depends on what else has finished. One seed decides nothing.
    """
    found = [(hypothesis, _tests(hypothesis, comparison)) for hypothesis in comparison.hypotheses]
    made = [test for _, tests in found for test in tests]
    corrected = iter(holm([1.0 if test.numbers is None or test.numbers.p is None else test.numbers.p for test in made]))
    result = []
    for hypothesis, tests in found:
        tasks = tuple(_decide(hypothesis, test, p, len(made)) for test, p in zip(tests, corrected, strict=False))
        decision = next(one for one in PRECEDENCE if one in {task.decision for task in tasks})
        result.append(Verdict(hypothesis=hypothesis, decision=decision, tasks=tasks, tests=len(made)))
    return tuple(result)


def _tests(hypothesis: Hypothesis, comparison: Comparison) -> list[HypothesisTest]:
    cells = {cell.label: cell for cell in comparison.cells}
    try:
        pairs = [(cells[one], cells[other]) for one, other in pair_cells(hypothesis, {label: cell.levels for label, cell in cells.items()})]
    except UsageError as problem:
        return [HypothesisTest(task="", missing=str(problem))]
    every = list(dict.fromkeys(task for _, results in comparison.finished for task in results["tasks"]))
    by_task: dict[str, list[tuple[Cell, Cell]]] = {}
    for pair in pairs:
        for task in _tasks(hypothesis, pair, comparison, every):
            by_task.setdefault(task, []).append(pair)
    return [compare_on_task(hypothesis, of_task, task) for task, of_task in by_task.items()]


def _tasks(hypothesis: Hypothesis, pair: Sequence[Cell], comparison: Comparison, every: Sequence[str]) -> list[str]:
    """Return the tasks that a hypothesis is about in a pair of cells: those on which they measured its metrics, or will."""
    measured = {task: None for cell in pair for metric in hypothesis.metrics for task in _measured(cell, metric)}
    if measured:
        return list(measured)
    names = [factor.name for factor in comparison.factors if TASK in (factor.name, *factor.key.split("+"))]
    of_levels = [task for cell in pair for name in names if name in cell.levels for task in _of_level(name, cell.levels[name], comparison)]
    of_results = [task for cell in pair for task in (cell.results or {}).get("tasks", ())]
    return list(dict.fromkeys(of_levels or of_results or ([] if names else every) or [""]))


def _of_level(name: str, level: str, comparison: Comparison) -> list[str]:
    """Return the tasks of a level of a factor that varies the task: those of its finished cells, or the level itself if there are none."""
    return [task for cell, results in comparison.finished if cell.levels.get(name) == level for task in results["tasks"]] or [level]


def _measured(cell: Cell, metric: str) -> list[str]:
    try:
        return list(metric_values(cell, metric))
    except UsageError:  # measured several times, which the test reports
        return list((cell.results or {}).get("tasks", ()))


def _decide(hypothesis: Hypothesis, test: HypothesisTest, p: float | None, tests: int) -> TaskVerdict:
    if test.missing:
        return TaskVerdict(test=test, decision=NOT_RUN, reason=test.missing)
    numbers = test.numbers
    if numbers is None or test.reason or p is None:
        return TaskVerdict(test=test, decision=UNDECIDED, reason=test.reason)
    if len(numbers.seeds) < 2 or numbers.interval is None:
        reason = "one seed decides nothing: the test is about these trained models, not about others trained in the same way"
        return TaskVerdict(test=test, decision=UNDECIDED, p_corrected=p, reason=reason)
    beyond = hypothesis.sign * (numbers.difference - hypothesis.null)
    limit = max(hypothesis.sign * bound for bound in numbers.interval)
    negligible = hypothesis.relevant is not None and limit < hypothesis.relevant
    exact = hypothesis.text.exact_number
    if p < ALPHA and beyond > 0:
        small = f"but the interval excludes a relevant difference, {exact(hypothesis.relevant or 0)} or more" if negligible else ""
        return TaskVerdict(test=test, decision=SHOWN, p_corrected=p, reason=small)
    if p < ALPHA:
        opposite = "lower" if hypothesis.sign > 0 else "higher"
        by = f" by more than {exact(hypothesis.margin)}" if hypothesis.margin else ""
        return TaskVerdict(test=test, decision=REFUTED, p_corrected=p, reason=f"significantly {opposite}{by}")
    if negligible:
        reason = f"the 95 % interval excludes a relevant difference, {exact(hypothesis.relevant or 0)} or more"
        return TaskVerdict(test=test, decision=REFUTED, p_corrected=p, reason=reason)
    return TaskVerdict(test=test, decision=UNDECIDED, p_corrected=p, reason=_what_would_decide(hypothesis, numbers, ALPHA / tests))


def _what_would_decide(hypothesis: Hypothesis, numbers: PairedDifference, alpha: float) -> str:
    """Return the smallest difference that the seeds could have shown, and what the relevant one, or the margin, needs."""
    assert numbers.standard_error is not None
    assert numbers.deviation is not None
    number, exact, seeds = hypothesis.text.number, hypothesis.text.exact_number, len(numbers.seeds)
    smallest = smallest_detectable(seeds, numbers.standard_error, alpha=alpha)
    what, equal = ("a margin", " if the two are equal") if hypothesis.margin else ("a difference", "")
    shown = f"{seeds} seeds show {what} of at least {number(smallest)} with {100 * POWER:.0f} % power{equal}"
    wanted = hypothesis.margin or hypothesis.relevant
    if wanted is None:
        return shown
    if smallest <= wanted:
        return f"{shown}, which suffices for {exact(wanted)}"
    needed = seeds_needed(wanted, numbers.deviation, alpha=alpha)
    if needed > seeds:
        more = " and more examples" if numbers.standard_error > LARGER * numbers.deviation / math.sqrt(seeds) else ""
        return f"{shown}; {exact(wanted)} needs {counted(needed, 'seed')}{more}{equal}"
    return f"{shown}; {exact(wanted)} needs more examples, whose choice makes more of the error than the seeds"
