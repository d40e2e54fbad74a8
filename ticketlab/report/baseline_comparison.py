"""Each cell of a comparison against its baseline, paired by seed and example, corrected for the number of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from attrs import evolve, frozen

from ticketlab.core.errors import Damaged, UsageError
from ticketlab.core.formatting import counted
from ticketlab.report.baseline import find_baseline
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.metric_values import SeedValue, check_metric, metric_values
from ticketlab.report.outcomes import Outcomes, data_set, has_outcomes, outcomes_of
from ticketlab.statistics.holm import holm
from ticketlab.statistics.seeds import over_seeds, paired_t_test

Test = Literal["", "paired bootstrap", "exact McNemar test", "paired t test"]
BOOTSTRAP: Test = "paired bootstrap"
MCNEMAR: Test = "exact McNemar test"
T_TEST: Test = "paired t test"
RESAMPLES = 10_000
FEW_SEEDS = 5
"""With fewer seeds the bootstrap over seeds gives intervals that are too narrow: n drawn seeds have (n - 1) / n of their variance."""
OTHER_DATA = "the data of the two are not the same: examples are paired by their ids, whatever their texts"
_Pair = tuple[SeedValue, SeedValue]


@frozen(kw_only=True)
class PairedComparison:
    """A cell against its baseline, by one metric on one task.

    ``value`` and ``baseline_value`` are means over the paired seeds and shared examples, and ``difference`` is the first less the second.
    ``interval`` is the 95 % interval of the difference, ``p`` the two-sided p value and ``p_corrected`` that of Holm's correction. Which
    test they come from is in ``test``: :data:`BOOTSTRAP`, :data:`MCNEMAR` or :data:`T_TEST`, or empty, and then ``reason`` says why there
    is none. ``seeds`` are the paired seeds, ``unpaired`` those that only one of the two has, and ``examples`` and ``left_out`` count the
    examples that were compared and those that only one has; None and 0 for a test over seeds only. ``notes`` are limits to print with it,
    and ``interval_note`` one to print where the interval is shown.
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
    interval_note: str = ""


def compare_with_baseline(
    comparison: Comparison, metrics: Sequence[str], *, baseline: str = "", of: str = "", resamples: int = RESAMPLES
) -> tuple[PairedComparison, ...]:
    """Compare every finished cell with its baseline, by each metric and on each task, and correct all p values together.

    ``baseline`` is a cell's label or a factor's level, by default the comparison's baseline; see
    :func:`ticketlab.report.baseline.find_baseline`. ``of`` is as in :func:`ticketlab.report.metric_values.metric_values`.

    Metrics that are fractions of examples are compared by the outcomes of the examples: by the paired bootstrap over seeds and examples,
    with ``resamples`` resamples, and by the exact McNemar test if there is one seed. Other metrics are compared by the paired t test over
    seeds. If the outcomes are not in the lab, there is a difference but no test. A cell that has no baseline has a result with the
    ``reason``.

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
                    found.append(_compare(result, cell, values, chosen.cell, others, resamples))
    return correct_together(found)


def correct_together(comparisons: Sequence[PairedComparison]) -> tuple[PairedComparison, ...]:
    """Return the comparisons with their p values corrected for the number of all of them."""
    corrected = holm([comparison.p for comparison in comparisons])
    return tuple(evolve(comparison, p_corrected=p) for comparison, p in zip(comparisons, corrected, strict=True))


def _compare(
    result: PairedComparison, cell: Cell, values: Sequence[SeedValue], baseline: Cell, others: Sequence[SeedValue], resamples: int
) -> PairedComparison:
    """Return the comparison of the values of two cells, without correction."""
    by_seed, of_baseline = ({value.seed: value for value in of_cell} for of_cell in (values, others))
    if not others:
        return evolve(result, reason=f"{baseline.label} has no `{result.metric}` of {result.task}")
    result = evolve(result, unpaired=tuple(sorted(by_seed.keys() ^ of_baseline.keys())))
    pairs = _distinct([(by_seed[seed], of_baseline[seed]) for seed in sorted(by_seed.keys() & of_baseline.keys())])
    if not pairs:
        return evolve(result, reason="the two have no seed in common")
    first, second = over_seeds([pair[0].value for pair in pairs]), over_seeds([pair[1].value for pair in pairs])
    assert first is not None
    assert second is not None
    result = evolve(
        result,
        seeds=tuple(pair[0].seed for pair in pairs),
        value=first.mean,
        baseline_value=second.mean,
        difference=first.mean - second.mean,
    )
    if all(one.key == other.key for one, other in pairs):
        return evolve(result, reason="both are the same measurement")
    if not has_outcomes(result.metric):
        return _by_seeds(result, pairs)
    try:
        outcomes = [(outcomes_of(cell, one, result.metric), outcomes_of(baseline, other, result.metric)) for one, other in pairs]
    except (UsageError, Damaged) as problem:
        return evolve(result, reason=str(problem))
    result = _by_examples(result, outcomes, resamples)
    return result if _same_data(cell, baseline, result) else evolve(result, notes=(*result.notes, OTHER_DATA))


def _by_seeds(result: PairedComparison, pairs: Sequence[_Pair]) -> PairedComparison:
    if len(pairs) == 1:
        return evolve(result, reason="one seed says nothing about others")
    differences = [one.value - other.value for one, other in pairs]
    p = paired_t_test(differences)
    if p is None:
        return evolve(result, reason="the difference is the same with every seed, so its spread is unknown")
    statistics = over_seeds(differences)
    assert statistics is not None
    return evolve(result, interval=statistics.interval, p=p, test=T_TEST)


def _by_examples(result: PairedComparison, outcomes: Sequence[tuple[Outcomes, Outcomes]], resamples: int) -> PairedComparison:
    from ticketlab.statistics.bootstrap import paired_bootstrap
    from ticketlab.statistics.mcnemar import mcnemar

    found = paired_bootstrap(outcomes, resamples=resamples)
    if found is None:
        return evolve(result, reason="the two have no example in common")
    result = evolve(
        result,
        value=found.first,
        baseline_value=found.second,
        difference=found.difference,
        interval=found.interval,
        examples=found.examples,
        left_out=found.left_out,
        test=BOOTSTRAP if len(outcomes) > 1 else MCNEMAR,
        p=found.p if len(outcomes) > 1 else mcnemar(*outcomes[0]).p,
    )
    return evolve(result, notes=tuple(_notes(result)), interval_note=_interval_note(result))


def _notes(result: PairedComparison) -> list[str]:
    """Return the limits of a comparison by examples."""
    notes = []
    if len(result.seeds) == 1:
        notes.append("one seed: the test is about these two trained models, not about others trained in the same way")
    if result.interval is None:
        notes.append("no example has another outcome, so the spread of the difference is unknown")
    if result.unpaired:
        notes.append(f"seeds {', '.join(map(str, result.seeds))} are compared; only one of the two has {_listed(result.unpaired)}")
    if result.left_out:
        notes.append(f"{counted(result.left_out, 'example')} that only one of the two has are left out")
    return notes


def _interval_note(result: PairedComparison) -> str:
    """Return why the interval of a comparison by examples is too narrow; empty if it is not."""
    if result.interval is None or not 1 < len(result.seeds) < FEW_SEEDS:
        return ""
    return f"{len(result.seeds)} seeds: the interval is too narrow, since the spread over seeds is hardly known"


def _same_data(cell: Cell, baseline: Cell, result: PairedComparison) -> bool:
    """Return whether the examples come from equal data: the set of an ``ood.`` metric, and of others the task."""
    name = data_set(result.metric) or result.task
    of_both = [(one.results or {}).get("data", {}).get(name, {}).get("fingerprint") for one in (cell, baseline)]
    return bool(of_both[0] == of_both[1])


def _listed(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _distinct(pairs: Sequence[_Pair]) -> list[_Pair]:
    """Return the pairs without those whose measurements are those of an earlier seed, because neither depends on the seed."""
    return list({(one.key, other.key): (one, other) for one, other in reversed(pairs)}.values())[::-1]
