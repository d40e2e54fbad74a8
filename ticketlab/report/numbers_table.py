"""The lines of a file of numbers: for each number a summary and the value of each seed, and what was measured during trainings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ticketlab.report.cells import RUN, Cell, Comparison
from ticketlab.report.numbers import Number, numbers
from ticketlab.report.summaries import Summary, summarise_numbers

KEY_DIGITS = 16
COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("run", "label", "recipe", "task", "model", "scale"), str),
    **dict.fromkeys(("seeds", "seed"), int),
    **dict.fromkeys(("of", "checkpoint", "stage", "key", "set", "split", "subset", "attack"), str),
    **dict.fromkeys(("sample", "sample_seed"), int),
    "metric": str,
    "step": int,
    **dict.fromkeys(("value", "deviation", "low", "high"), float),
    **dict.fromkeys(("n", "n_largest"), int),
}
"""The first columns of every file and the types of their values; those of the factors and settings follow."""
FACTOR = "factor."
SETTING = "setting."
"""Prefixes of the columns of factors and of settings, so that a factor may have any name."""

Line = dict[str, str | int | float | None]


def setting_columns(comparison: Comparison) -> list[str]:
    """Return a column for each factor, and one for each setting in which a run differs from the recipe of its name."""
    factors = [f"{FACTOR}{factor.name}" for factor in comparison.factors if factor.name != RUN]
    paths = dict.fromkeys(path for _, results in comparison.finished for path in results.get("overrides", {}))
    return [*factors, *(f"{SETTING}{path}" for path in paths)]


def number_lines(comparison: Comparison) -> Iterator[Line]:
    """Yield the lines of all finished cells, as values by column. A column without a value may be missing.

    The lines of a cell are its summaries, each followed by the values of its seeds, and then what was measured during trainings.
    """
    for cell, results in comparison.finished:
        settings = _settings(cell, results)
        found = list(numbers(cell))
        for summary in summarise_numbers(found):
            yield _summary_line(summary) | settings
            yield from (_seed_line(value) | settings for value in summary.values)
        yield from (_seed_line(number) | settings for number in found if number.step is not None)


def _settings(cell: Cell, results: Mapping[str, Any]) -> Line:
    levels: Line = {f"{FACTOR}{factor}": level for factor, level in cell.levels.items() if factor != RUN}
    return levels | {f"{SETTING}{path}": _setting(value) for path, value in results.get("overrides", {}).items()}


def _setting(value: Any) -> str | int | float:
    """Return a number or text as it is, and anything else as JSON."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return value
    return json.dumps(value, ensure_ascii=False)


def _shared(number: Number) -> Line:
    """Return the columns that identify what was measured."""
    return {
        "run": number.run,
        "label": number.cell,
        "recipe": number.recipe,
        "task": number.task,
        "model": number.model,
        "scale": number.scale,
        "of": number.of,
        "checkpoint": number.checkpoint,
        "stage": number.stage,
        "set": number.set,
        "split": number.split,
        "subset": number.subset,
        "attack": number.attack,
        "sample": number.sample,
        "sample_seed": number.sample_seed,
        "metric": number.metric,
    }


def _summary_line(summary: Summary) -> Line:
    statistics = summary.statistics
    low, high = statistics.interval or (None, None)
    n, largest = summary.examples or (None, None)
    return _shared(summary.number) | {
        "seeds": statistics.seeds,
        "key": " ".join(key[:KEY_DIGITS] for key in summary.keys),
        "value": statistics.mean,
        "deviation": statistics.deviation,
        "low": low,
        "high": high,
        "n": n,
        "n_largest": None if largest == n else largest,
    }


def _seed_line(number: Number) -> Line:
    low, high = number.interval or (None, None)
    return _shared(number) | {
        "seed": number.seed,
        "key": number.key[:KEY_DIGITS],
        "step": number.step,
        "value": number.value,
        "low": low,
        "high": high,
        "n": number.n,
    }
