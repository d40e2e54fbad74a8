"""The best level of a factor, chosen on development data, and the test number at this level."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.lab.results import stage_results
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.dev_score import dev_score
from ticketlab.report.metric_values import SeedValue, check_metric, distinct_values, lower_is_better, metric_values
from ticketlab.report.one_class import metric_of_one_class
from ticketlab.statistics.seeds import SeedStatistics, over_seeds

DEV = "dev."
_Scores = tuple[str, Mapping[int, float]]
"""The name of a development metric, and its value by seed."""


@frozen(kw_only=True)
class Selection:
    """The level of ``factor`` that was selected among cells that are equal in the other factors, whose levels are ``levels``.

    ``selected_on`` is the metric of the development split that selected it, and ``candidates`` its mean over seeds by level. ``test`` is
    ``metric`` at the selected level, in the cell ``cell``. ``missing`` are levels whose cells have no number, and ``one_class`` those that
    were left out because they are attacks on a model that predicts one class, which nothing can fool. If nothing could be selected,
    ``level`` and ``test`` are None and ``reason`` says why; if there was nothing to select, ``reason`` says so. ``task`` is empty if no
    cell has a number.
    :attr:`description` says in words how the level was selected, for tables.
    """

    factor: str
    levels: Mapping[str, str]
    task: str
    metric: str
    selected_on: str = ""
    candidates: Mapping[str, float] = field(factory=dict)
    level: str | None = None
    cell: str = ""
    test: SeedStatistics | None = None
    missing: tuple[str, ...] = ()
    one_class: tuple[str, ...] = ()
    reason: str = ""

    @property
    def description(self) -> str:
        """How the level was selected, or why none was."""
        if self.level is None:
            return f"{self.factor}: nothing selected, because {self.reason}"
        if self.reason:
            return f"{self.factor} {self.level}: {self.reason}"
        missing = f"; not finished: {', '.join(self.missing)}" if self.missing else ""
        one_class = f"; left out, because the model predicts one class: {', '.join(self.one_class)}" if self.one_class else ""
        telling = [level for level in self.candidates if level not in self.one_class]
        among = f"selected among {', '.join(telling)} on development data ({self.selected_on})"
        return f"{self.factor} {self.level}, {among}{one_class}{missing}"


def select_level(comparison: Comparison, factor: str, metric: str, *, selected_on: str = "", of: str = "") -> tuple[Selection, ...]:
    """Select the best level of a factor for every combination of the other factors and each task.

    The level is selected by ``selected_on``, a metric of the development split. By default this is the same metric on that split
    (``dev.clean.accuracy`` for ``clean.accuracy``) if all cells of the group have it, and otherwise the development score that the
    training of the measured model has in its history. Seeds that not all levels have do not count. Of equal levels the first is selected.

    :raises UsageError: there is no such factor or metric, ``metric`` is of the development split, or ``selected_on`` is not.
    """
    names = [known.name for known in comparison.factors]
    if factor not in names:
        raise UsageError(f"the comparison has no factor `{factor}`{did_you_mean(factor, names)}")
    if selected_on and not is_of_dev(selected_on):
        raise UsageError(f"`{selected_on}` is not measured on development data; name a metric that begins with `{DEV}`")
    if is_of_dev(metric):
        raise UsageError(f"`{metric}` is measured on development data: a level that is selected on these has no fair number there")
    check_metric(comparison, metric)
    found = []
    for group in _groups(comparison, factor):
        values = {cell.label: metric_values(cell, metric, of) for cell in group}
        if not any(values.values()):
            reasons = dict.fromkeys(_reason_without(cell, metric) for cell in group)
            nothing = Selection(factor=factor, levels=_others(group[0], factor), task="", metric=metric)
            found.append(evolve(nothing, missing=tuple(cell.levels[factor] for cell in group), reason="; ".join(reasons)))
        for task in dict.fromkeys(task for by_task in values.values() for task in by_task):
            measured = [(cell, values[cell.label][task]) for cell in group if task in values[cell.label]]
            result = Selection(factor=factor, levels=_others(group[0], factor), task=task, metric=metric)
            missing = tuple(cell.levels[factor] for cell in group if task not in values[cell.label])
            found.append(_select(evolve(result, missing=missing), measured, selected_on))
    return tuple(found)


def is_of_dev(metric: str) -> bool:
    """Return whether a metric is measured on development data."""
    return metric.startswith(DEV) or (metric.startswith("history.") and ".dev_" in metric)


def _groups(comparison: Comparison, factor: str) -> list[list[Cell]]:
    """Return the cells that differ in the factor alone, in the order of its levels."""
    groups: dict[tuple[tuple[str, str], ...], list[Cell]] = {}
    for cell in comparison.cells:
        if factor in cell.levels:
            groups.setdefault(tuple(sorted(_others(cell, factor).items())), []).append(cell)
    order = next(known.levels for known in comparison.factors if known.name == factor)
    return [sorted(cells, key=lambda cell: order.index(cell.levels[factor])) for cells in groups.values()]


def _reason_without(cell: Cell, metric: str) -> str:
    if cell.results is not None:
        return f"it has no `{metric}`"
    return cell.error or cell.missing or cell.unavailable or "it is not finished"


def _others(cell: Cell, factor: str) -> dict[str, str]:
    return {name: level for name, level in cell.levels.items() if name != factor}


def _select(result: Selection, measured: Sequence[tuple[Cell, Sequence[SeedValue]]], selected_on: str) -> Selection:
    """Return the selection among cells with their values of the test metric, by default by the best metric that they have."""
    first, values = measured[0]
    if all(result.factor in cell.inapplicable for cell, _ in measured):
        return _selected(result, first, values, f"{result.factor} has no effect")
    if len(measured) == 1:
        return _selected(result, first, values, "the only level with a number")
    scores, reason = _dev_scores(result, measured, selected_on)
    if reason:
        return evolve(result, reason=reason)
    metric = next(iter(scores.values()))[0]
    seeds = set.intersection(*(set(by_seed) for _, by_seed in scores.values()))
    if not seeds:
        return evolve(result, reason="the levels have no seed in common")
    means = {label: statistics.fmean(by_seed[seed] for seed in sorted(seeds)) for label, (_, by_seed) in scores.items()}
    telling = [candidate for candidate in measured if not metric_of_one_class(candidate[0], metric, result.task)] or measured
    best = (min if lower_is_better(metric) else max)(telling, key=lambda candidate: means[candidate[0].label])
    candidates = {cell.levels[result.factor]: means[cell.label] for cell, _ in measured}
    one_class = tuple(cell.levels[result.factor] for cell, values in measured if (cell, values) not in telling)
    return _selected(evolve(result, selected_on=metric, candidates=candidates, one_class=one_class), *best)


def _selected(result: Selection, cell: Cell, values: Sequence[SeedValue], reason: str = "") -> Selection:
    test = over_seeds([value.value for value in distinct_values(values)])
    return evolve(result, level=cell.levels[result.factor], cell=cell.label, test=test, reason=reason)


def _dev_scores(
    result: Selection, measured: Sequence[tuple[Cell, Sequence[SeedValue]]], selected_on: str
) -> tuple[dict[str, _Scores], str]:
    """Return the development scores by the label of the cell, all of one metric; or the reason why there are none."""
    metric = selected_on or DEV + result.metric
    of_split = {cell.label: metric_values(cell, metric, values[0].of).get(result.task, ()) for cell, values in measured}
    if all(of_split.values()):
        return {label: (metric, {value.seed: value.value for value in values}) for label, values in of_split.items()}, ""
    if selected_on:
        without = ", ".join(label for label, values in of_split.items() if not values)
        return {}, f"these cells have no `{selected_on}`: {without}"
    scores: dict[str, _Scores] = {}
    for cell, values in measured:
        stages_of = {stage.key: stage for stage in stage_results(cell.results or {"tasks": {}})}
        by_seed: dict[int, float] = {}
        name = ""
        for value in values:
            measuring = stages_of[value.key]
            model, _, at = value.of.partition("@")
            score = dev_score(cell, measuring.task, measuring.siblings, model, at, result.metric.rpartition(".")[2])
            if score.value is None:
                return {}, f"no level has `{metric}`, and {cell.label}: {score.reason}"
            by_seed[value.seed], name = score.value, score.metric
        scores[cell.label] = name, by_seed
    if len({name.rpartition(".")[2] for name, _ in scores.values()}) > 1:
        return {}, "the trainings of the levels measured different development scores"
    return scores, ""
