"""Each cell of a comparison against its baseline, paired by seed and example, corrected for the number of comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from ticketlab.report.baseline import find_baseline
from ticketlab.report.cells import Comparison
from ticketlab.report.metric_values import check_metric, metric_values
from ticketlab.report.paired_cells import CellPair, compare_cells
from ticketlab.statistics.holm import holm
from ticketlab.statistics.paired import PairedDifference


@frozen(kw_only=True)
class PairedComparison:
    """A cell against its baseline, by one metric on one task.

    ``numbers`` are those of the cell less its baseline, or None if they cannot be compared; ``reason`` says why there are none, or no
    test. ``p_corrected`` is the p value of Holm's correction, and ``unpaired`` are the seeds that only one of the two has. ``same_as`` is
    the earlier cell whose comparison is of the same measurements: both are one test. ``notes`` are limits to print with it.
    """

    cell: str
    baseline: str
    task: str
    metric: str
    numbers: PairedDifference | None = None
    p_corrected: float | None = None
    unpaired: tuple[int, ...] = ()
    same_as: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()


def compare_with_baseline(
    comparison: Comparison, metrics: Sequence[str], *, baseline: str = "", of: str = ""
) -> tuple[PairedComparison, ...]:
    """Compare every finished cell with its baseline, by each metric and on each task, and correct all p values together.

    ``baseline`` is a cell's label or a factor's level, by default the comparison's baseline; see
    :func:`ticketlab.report.baseline.find_baseline`. ``of`` is as in :func:`ticketlab.report.metric_values.metric_values`.

    Metrics that are fractions of examples are compared by the outcomes of the examples: by the paired bootstrap over seeds and examples
    together with the paired t test over seeds, and by the exact McNemar test if there is one seed. Other metrics are compared by the paired
    t test over seeds. If the outcomes are not in the lab, or the difference is the same with every seed, there is a difference but no test.
    A cell that has no baseline has a result with the ``reason``. Comparisons of the same measurements are one test of the correction.

    :raises UsageError: no cell has a metric, there is no such baseline, or a metric is ambiguous.
    """
    found: list[PairedComparison] = []
    first: dict[tuple[str, str, frozenset[tuple[str, str]]], str] = {}
    for metric in metrics:
        check_metric(comparison, metric)
        for cell, _ in comparison.finished:
            chosen = find_baseline(comparison, cell, baseline)
            for task, values in metric_values(cell, metric, of).items():
                result = PairedComparison(cell=cell.label, baseline="", task=task, metric=metric)
                if chosen.cell is None:
                    found.append(evolve(result, reason=chosen.reason))
                elif chosen.cell.label != cell.label:
                    result = evolve(result, baseline=chosen.cell.label)
                    others = metric_values(chosen.cell, metric, of).get(task, ())
                    pair = CellPair.of(metric, task, (cell, chosen.cell), (values, others))
                    earlier = first.setdefault((metric, task, pair.measurements), cell.label) if pair.measurements else cell.label
                    found.append(evolve(_compare(result, pair), same_as="" if earlier == cell.label else earlier))
    return _corrected(found)


def _corrected(comparisons: Sequence[PairedComparison]) -> tuple[PairedComparison, ...]:
    """Return the comparisons with their p values corrected for the number of tests."""
    tests = [comparison for comparison in comparisons if not comparison.same_as]
    corrected = holm([test.numbers.p if test.numbers else None for test in tests])
    known = {(test.cell, test.task, test.metric): p for test, p in zip(tests, corrected, strict=True)}
    return tuple(evolve(one, p_corrected=known[one.same_as or one.cell, one.task, one.metric]) for one in comparisons)


def _compare(result: PairedComparison, pair: CellPair) -> PairedComparison:
    """Return the comparison of the values of two cells, without correction."""
    if not pair.values[1]:
        return evolve(result, reason=f"{result.baseline} has no `{result.metric}` of {result.task}")
    found = compare_cells([pair])
    numbers = found.numbers
    if numbers is None:
        return evolve(result, unpaired=found.unpaired, reason="the two have no seed in common")
    notes = (*_limits(numbers), *found.notes)
    return evolve(result, numbers=numbers, unpaired=found.unpaired, reason=numbers.reason, notes=notes)


def _limits(numbers: PairedDifference) -> Iterator[str]:
    """Yield the limits of a test of one seed."""
    if numbers.p is not None and len(numbers.seeds) == 1:
        yield "one seed: the test is about these two trained models, not about others trained in the same way"
        if numbers.interval is None:
            yield "no example has another outcome, so the spread of the difference is unknown"
