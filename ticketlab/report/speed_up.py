"""How many times faster a cell's optimizer steps were than its baseline's."""

from __future__ import annotations

from attrs import evolve, frozen

from ticketlab.lab.results import checkpoint_name
from ticketlab.report.baseline import find_baseline
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.cost import Stages, model_cost
from ticketlab.report.metric_values import measured_model
from ticketlab.statistics.seeds import SeedStatistics, geometric_over_seeds, over_seeds

NOTE = "speed-ups compare seconds of optimizer steps as measured on the machines that ran the stages; other machines give other ratios"


@frozen
class SpeedUp:
    """``ratio`` is the baseline's seconds divided by the cell's: 2 is twice as fast. It is the geometric mean over paired seeds.

    The seconds are those of the optimizer steps of searches and trainings that led to the measured model. A stage that several cells share
    counts fully in each. ``reason`` says why there is no ratio.
    """

    cell: str
    baseline: str
    task: str
    ratio: SeedStatistics | None
    seconds: SeedStatistics | None = None
    baseline_seconds: SeedStatistics | None = None
    seeds: tuple[int, ...] = ()
    reason: str = ""


@frozen
class _Seconds:
    """The seconds of each seed, by the key of the model's stage and the seed; or the ``reason`` why they are not known."""

    by_seed: dict[int, tuple[str, float]]
    reason: str = ""


def speed_ups(comparison: Comparison, *, baseline: str = "", of: str = "") -> tuple[SpeedUp, ...]:
    """Return the speed-up of every finished cell but the baseline on each of its tasks; print :data:`NOTE` with them.

    ``baseline`` and ``of`` are as in :func:`ticketlab.report.baseline_comparison.compare_with_baseline`.

    :raises UsageError: there is no such baseline, or several models of a cell were measured.
    """
    found: list[SpeedUp] = []
    for cell, results in comparison.finished:
        chosen = find_baseline(comparison, cell, baseline)
        for task in results["tasks"]:
            if chosen.cell is None:
                found.append(SpeedUp(cell.label, "", task, None, reason=chosen.reason))
            elif chosen.cell.label != cell.label:
                result = SpeedUp(cell.label, chosen.cell.label, task, None)
                found.append(_speed_up(result, _seconds(cell, task, of), _seconds(chosen.cell, task, of)))
    return tuple(found)


def _speed_up(result: SpeedUp, own: _Seconds, others: _Seconds) -> SpeedUp:
    if own.reason or others.reason:
        return evolve(result, reason=own.reason or others.reason)
    shared = sorted(own.by_seed.keys() & others.by_seed.keys())
    pairs = {(own.by_seed[seed][0], others.by_seed[seed][0]): seed for seed in reversed(shared)}
    seeds = sorted(pairs.values())
    if not seeds:
        return evolve(result, reason="the two have no seed in common")
    seconds, of_baseline = ([side.by_seed[seed][1] for seed in seeds] for side in (own, others))
    ratio = geometric_over_seeds([other / one for one, other in zip(seconds, of_baseline, strict=True)])
    return evolve(result, ratio=ratio, seconds=over_seeds(seconds), baseline_seconds=over_seeds(of_baseline), seeds=tuple(seeds))


def _seconds(cell: Cell, task: str, of: str) -> _Seconds:
    """Return the seconds of the optimizer steps behind the model that a cell measured on a task."""
    by_seed: dict[int, tuple[str, float]] = {}
    seeds: dict[str, Stages] = (cell.results or {}).get("tasks", {}).get(task, {})
    for seed, stages in seeds.items():
        measured = measured_model(cell, stages, of)
        if measured is None:
            return _Seconds({}, f"{cell.label} measured no model")
        model, at = measured
        if model not in stages:
            return _Seconds({}, f"{cell.label} measured a model from outside the recipe, whose cost is not known")
        cost = model_cost([stages], model, at)
        if cost.partly:
            return _Seconds({}, f"{cell.label} used only {', '.join(cost.partly)}, and only whole stages are timed")
        total = sum(measure.mean for measure in (cost.search_seconds, cost.training_seconds) if measure is not None)
        if total <= 0:
            return _Seconds({}, f"{cell.label} has no timed optimizer steps")
        by_seed[int(seed)] = checkpoint_name(str(stages[model].get("key", seed)), at), total
    return _Seconds(by_seed, "" if by_seed else f"{cell.label} has no {task}")
