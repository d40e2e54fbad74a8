"""The tables of ``ticketlab lab diff``: the settings and the numbers in which two runs differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ticketlab.notebook.differing_numbers import DifferingNumber
from ticketlab.notebook.run_columns import is_share
from ticketlab.report.layout import EMPTY, cell_text
from ticketlab.report.statistics import Measure

MEASURES = {
    *("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "matthews", "aua", "suc", "queries", "words_changed"),
    *("similarity", "bias_degree", "calibration_error"),
}
"""The measures of data sets and attacks in the table of numbers; the JSON has all."""

if TYPE_CHECKING:
    from rich.table import Table


def setting_table(differing: Mapping[str, tuple[Any, Any]], names: Sequence[str]) -> Table:
    """Return the table of settings."""
    table = _table("Settings that differ")
    for head in ("Setting", *names):
        table.add_column(cell_text(head), overflow="fold")
    for path, values in differing.items():
        table.add_row(*map(cell_text, [path, *map(_setting_text, values)]))
    return table


def number_table(differing: Sequence[DifferingNumber], names: Sequence[str]) -> Table:
    """Return the table of numbers: means over seeds with their deviations, shares in percent."""
    table = _table("Numbers that differ")
    several_tasks = len({number.task for number in differing}) > 1
    several_models = len({number.model for number in differing}) > 1
    heads = [*(["Task"] if several_tasks else []), *(["Model"] if several_models else []), "Metric"]
    for head in heads:
        table.add_column(head, overflow="fold")
    for head in (*names, "Difference"):
        table.add_column(cell_text(head), justify="right", overflow="fold")
    for number in differing:
        start = [*([number.task] if several_tasks else []), *([number.model] if several_models else [])]
        unit = " %" if is_share(number.metric) else ""
        values = [_measure_text(measure, number.metric) for measure in (number.one, number.other)]
        table.add_row(*map(cell_text, [*start, f"{number.metric}{unit}", *values, _difference_text(number)]))
    return table


def in_table(number: DifferingNumber) -> bool:
    """Return whether the table shows a number."""
    return number.metric.startswith(("cost.", "sparsity.")) or number.metric.rpartition(".")[2] in MEASURES


def as_json(names: Sequence[str], settings: Mapping[str, tuple[Any, Any]], differing: Sequence[DifferingNumber]) -> dict[str, Any]:
    """Return the differences as plain values."""
    return {
        "runs": list(names),
        "settings": {path: list(values) for path, values in settings.items()},
        "numbers": [
            {
                "task": number.task,
                "model": number.model,
                "metric": number.metric,
                "means": [None if measure is None else measure.mean for measure in (number.one, number.other)],
                "deviations": [None if measure is None else measure.deviation for measure in (number.one, number.other)],
                "difference": number.difference,
            }
            for number in differing
        ],
    }


def _table(title: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.title_justify = "left"
    return table


def _setting_text(value: Any) -> str:
    if value is None:
        return EMPTY
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _measure_text(measure: Measure | None, metric: str) -> str:
    if measure is None:
        return EMPTY
    deviation = "" if measure.deviation is None else f" ± {_text(measure.deviation, metric)}"
    return f"{_text(measure.mean, metric)}{deviation}"


def _difference_text(number: DifferingNumber) -> str:
    if number.difference is None:
        return EMPTY
    return f"{'+' if number.difference > 0 else '-'}{_text(abs(number.difference), number.metric)}"


def _text(value: float, metric: str) -> str:
    if is_share(metric):
        return f"{100 * value:.1f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
