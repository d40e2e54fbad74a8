"""What a table of a comparison shows: the factors of its rows and columns, and its metrics."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import fields, frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.report.cells import RUN, Comparison, Factor
from ticketlab.report.metric_text import SPEED_UP, SPLIT, split_metric
from ticketlab.report.numbers import Number

TASK = "task"
IMPLICIT = (TASK, "model", "scale")
"""What distinguishes numbers even if no factor varies it."""


@frozen
class TableSpec:
    """The table of a study file, or of options. Empty fields stand for their defaults.

    ``rows`` and ``columns`` name factors; ``task``, ``model`` and ``scale`` may be named if they vary without being a factor. Factors that
    are named in neither are rows, except the task, which is a column. ``metrics`` may have patterns, such as ``attack.*.aua``.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()


def spec_of(comparison: Comparison, **given: Sequence[str]) -> TableSpec:
    """Return the specification in a comparison's study, with the fields of :class:`TableSpec` that are ``given`` instead of its own.

    :raises UsageError: the study has an unknown key for its table.
    """
    names = check_keys(comparison.table)
    table = {key: [value] if isinstance(value, str) else value for key, value in comparison.table.items()}
    return TableSpec(**{name: tuple(given.get(name) or table.get(name, ())) for name in names})


def check_keys(table: Mapping[str, Any]) -> list[str]:
    """Check the table of a study file, and return the keys that it may have.

    :raises UsageError: it has another key, or a value that is neither a text nor a list of texts.
    """
    names = [field.name for field in fields(TableSpec)]
    for key, value in table.items():
        if key not in names:
            raise UsageError(f"table.{key}: a study's table has no such key{did_you_mean(key, names)}")
        if not isinstance(value, str) and not (isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)):
            raise UsageError(f"table.{key}: must be a name or a list of names, not {value!r}")
    return names


@frozen
class Axes:
    """The factors of a table's rows and columns, those that do not vary with their only level, and its metrics."""

    rows: tuple[Factor, ...]
    columns: tuple[Factor, ...]
    constant: Mapping[str, str]
    metrics: tuple[str, ...]


def levels_of(number: Number) -> dict[str, str]:
    """Return the levels of a number: those of its cell, and its task, model and scale."""
    return {TASK: number.task, "model": number.model, "scale": number.scale, **number.levels}


def resolve_axes(comparison: Comparison, numbers: Sequence[Number], spec: TableSpec) -> Axes:
    """Return the axes of a table of these numbers.

    :raises UsageError: the specification names an unknown factor, or one for both rows and columns.
    """
    metrics = select_metrics(spec.metrics, numbers, comparison) if spec.metrics else default_metrics(comparison, numbers)
    numbers = list({(number.cell, number.task): number for number in numbers}.values())  # each has the levels of all the others
    factors = {factor.name: factor for factor in comparison.factors}
    for name in IMPLICIT:
        if name not in factors:
            levels = dict.fromkeys(levels_of(number)[name] for number in numbers)
            factors[name] = Factor(name, tuple(levels), name)
    for name in (*spec.rows, *spec.columns):
        if name not in factors:
            raise UsageError(f"the table names the factor `{name}`, which does not exist{did_you_mean(name, factors)}")
        if name in spec.rows and name in spec.columns:
            raise UsageError(f"the table names the factor `{name}` for its rows and its columns; name it once")
    rest = [name for name in factors if name not in (*spec.rows, *spec.columns) and _varies(name, comparison, numbers)]
    tasks = [name for name in rest if TASK in (name, *factors[name].key.split("+")) and _is_column(name, comparison, numbers)]
    rows = [*spec.rows, *(name for name in rest if name not in tasks)]
    rows = rows or [factor.name for factor in comparison.factors[:1] if factor.name not in spec.columns]
    columns = [name for name in (*spec.columns, *tasks) if name not in rows]
    constant = {name: factors[name].levels[0] for name in factors if name not in (*rows, *columns) and factors[name].levels}
    return Axes(tuple(factors[name] for name in rows), tuple(factors[name] for name in columns), constant, tuple(metrics))


def _varies(name: str, comparison: Comparison, numbers: Sequence[Number]) -> bool:
    """Return whether a factor has several levels among the cells; an implicit one, among cells with equal levels of the others."""
    explicit = [factor.name for factor in comparison.factors]
    if name in explicit:
        of_cells = {cell.levels.get(name, "") for cell in comparison.cells}
        return len({*of_cells, *(one.levels[name] for one in comparison.published if name in one.levels)}) > 1
    by_levels: dict[tuple[str, ...], set[str]] = {}
    for number in numbers:
        levels = levels_of(number)
        by_levels.setdefault(tuple(levels.get(one, "") for one in explicit if one != RUN), set()).add(levels[name])
    return any(len(found) > 1 for found in by_levels.values())


def _is_column(name: str, comparison: Comparison, numbers: Sequence[Number]) -> bool:
    """Return whether tasks are columns. Those of unplanned runs are rows, unless all runs have the same ones."""
    if [factor.name for factor in comparison.factors] != [RUN]:
        return True
    tasks: dict[str, set[str]] = {}
    for number in numbers:
        tasks.setdefault(number.cell, set()).add(levels_of(number)[name])
    return all(found == next(iter(tasks.values())) for found in tasks.values())


def default_metrics(comparison: Comparison, numbers: Sequence[Number]) -> list[str]:
    """Return the metrics of a table that names none, as far as they were measured.

    They are the accuracy and the measures that the benchmark of each set reports, the accuracy under each attack, the sparsity, and the
    seconds of the searches and trainings, with a baseline also as a speed-up. What was measured on another split is shown if a model has
    no number on the test split. Published numbers have their metrics, too.
    """
    reported: dict[str, set[str]] = {}
    for _, results in comparison.finished:
        for name, about in results.get("data", {}).items():
            reported.setdefault(name, set()).update(about.get("measures", ()))
    known = dict.fromkeys(number.metric for number in numbers if number.step is None and not number.subset)
    tasks = {number.task for number in numbers}
    found = [metric for metric in known if _is_main(metric, tasks, reported)]
    measured = {metric: {(number.cell, number.task, number.of) for number in numbers if number.metric == metric} for metric in found}
    found = [metric for metric in found if SPLIT.sub("", metric) == metric or measured[metric] - measured.get(SPLIT.sub("", metric), set())]
    found += [published.metric for published in comparison.published]
    found += [SPEED_UP] if comparison.baseline and any(metric.startswith("cost.") for metric in found) else []
    kinds = ("clean", "ood", "attack", "sparsity", "cost", SPEED_UP)
    parts = {metric: split_metric(metric) for metric in found}
    names = list(dict.fromkeys(name for _, _, name, _ in parts.values()))

    def place(metric: str) -> tuple[int, int, str]:
        split, kind, name, measure = parts[metric]
        return kinds.index(kind) if kind in kinds else len(kinds), names.index(name), measure if kind == "cost" else split

    return sorted(parts, key=place)


def _is_main(metric: str, tasks: Iterable[str], reported: Mapping[str, Any]) -> bool:
    _, kind, name, measure = split_metric(metric)
    if kind in ("clean", "ood"):
        data = [name, f"{name} (ood)"] if name else tasks
        return measure == "accuracy" or any(measure in reported.get(one, ()) for one in data)
    if kind == "attack":
        return measure == "aua"
    return kind == "sparsity" or metric in ("cost.search_seconds", "cost.training_seconds")


def select_metrics(names: Iterable[str], numbers: Sequence[Number], comparison: Comparison) -> list[str]:
    """Return the metrics with these names, of which those with ``*`` are patterns for what was measured."""
    known = dict.fromkeys([*(number.metric for number in numbers if number.step is None), *(one.metric for one in comparison.published)])
    return list(dict.fromkeys(metric for name in names for metric in (_matching(name, known) if "*" in name else [name])))


def _matching(pattern: str, known: Iterable[str]) -> Iterator[str]:
    plain = pattern.replace("[", "[[]")
    return (metric for metric in known if fnmatch.fnmatchcase(metric, plain))


def check_metrics(names: Iterable[str], comparison: Comparison, numbers: Sequence[Number]) -> None:
    """Check that each metric of a table, or pattern, has a number.

    :raises UsageError: one has none.
    """
    measured = {number.metric for number in numbers if number.step is None}
    known = {*measured, *(one.metric for one in comparison.published), SPEED_UP}
    for name in names:
        if not any(_matching(name, known)) and name not in known:
            if any(number.metric == name for number in numbers):
                raise UsageError(f"the metric `{name}` has a number for each step, which a table cannot show; a figure and --csv can")
            raise UsageError(f"no run has the metric `{name}`{did_you_mean(name, known)}")
