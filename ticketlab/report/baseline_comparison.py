"""Each cell of a comparison against its baseline, paired by seed and example, corrected for the number of comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from ticketlab.report.baseline import find_baseline
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.metric_values import SeedValue, check_metric, metric_values
from ticketlab.report.paired_cells import CellPair, compare_cells
from ticketlab.statistics.holm import holm
from ticketlab.statistics.paired import PairedDifference, Test


@frozen(kw_only=True)
class PairedComparison:
    """A cell against its baseline, by one metric on one task.

    ``value`` and ``baseline_value`` are means over the paired seeds and shared examples, and ``difference`` is the first less the second.
    ``interval`` is the 95 % interval of the difference, ``p`` the two-sided p value and ``p_corrected`` that of Holm's correction. Which
    test they come from is in ``test``, as in :mod:`ticketlab.statistics.paired`, or it is empty, and ``reason`` says why there is none.
    ``seeds`` are the paired seeds, ``unpaired`` those that only one of the two has, and ``examples`` and ``left_out`` count the examples
    that were compared and those that only one has; None and 0 for a test over seeds only. ``notes`` are limits to print with it.
    """

    cell: str
    baseline: str
    task: str
    metric: str
    value: float | None = None
    baseline_value: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    p_corrected: float | None = None
    test: Test = ""
    seeds: tuple[int, ...] = ()
    unpaired: tuple[int, ...] = ()
    examples: int | None = None
    left_out: int = 0
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
    A cell that has no baseline has a result with the ``reason``.

    :raises UsageError: no cell has a metric, there is no such baseline, or a metric is ambiguous.
    """
    found: list[PairedComparison] = []
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
                    found.append(_compare(result, cell, values, chosen.cell, others))
    return correct_together(found)


def correct_together(comparisons: Sequence[PairedComparison]) -> tuple[PairedComparison, ...]:
    """Return the comparisons with their p values corrected for the number of all of them."""
    corrected = holm([comparison.p for comparison in comparisons])
    return tuple(evolve(comparison, p_corrected=p) for comparison, p in zip(comparisons, corrected, strict=True))


def _compare(
    result: PairedComparison, cell: Cell, values: Sequence[SeedValue], baseline: Cell, others: Sequence[SeedValue]
) -> PairedComparison:
    """Return the comparison of the values of two cells, without correction."""
    if not others:
        return evolve(result, reason=f"{baseline.label} has no `{result.metric}` of {result.task}")
    found = compare_cells([CellPair.of(result.metric, result.task, (cell, baseline), (values, others))])
    numbers = found.numbers
    if numbers is None:
        return evolve(result, unpaired=found.unpaired, reason="the two have no seed in common")
    return evolve(
        result,
        value=numbers.first,
        baseline_value=numbers.second,
        difference=numbers.difference,
        interval=numbers.interval,
        p=numbers.p,
        test=numbers.test,
        seeds=numbers.seeds,
        unpaired=found.unpaired,
        examples=numbers.examples,
        left_out=numbers.left_out,
        reason=numbers.reason,
        notes=(*_limits(numbers), *found.notes),
    )


def _limits(numbers: PairedDifference) -> Iterator[str]:
    """Yield the limits of a test of one seed."""
    if numbers.p is not None and len(numbers.seeds) == 1:
        yield "one seed: the test is about these two trained models, not about others trained in the same way"
        if numbers.interval is None:
            yield "no example has another outcome, so the spread of the difference is unknown"
