"""The main table of a page: a row for each cell, task and measured model; columns for the factors and the main metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from attrs import frozen

from ticketlab.lab.results import checkpoint_name
from ticketlab.pages.cell_names import CellNames
from ticketlab.pages.data_table import PageCell, PageColumn, PageRow, PageTable, Remarks, without_empty_columns
from ticketlab.pages.main_metrics import ambiguous_metrics, main_metrics
from ticketlab.pages.number_cells import statistics_cell, summary_cell
from ticketlab.report import speed_up
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.comparability import Comparability
from ticketlab.report.metric_text import SPEED_UP, MetricText, metric_text
from ticketlab.report.numbers import all_numbers
from ticketlab.report.speed_up import SpeedUp
from ticketlab.report.summaries import Summary

NOTE = (
    "Means over seeds ± the sample standard deviation. In brackets the 95 % interval: of several seeds Student's interval of the mean over "
    "seeds, of one seed the interval that covers the choice of the examples. The best value on each task is bold; under an attack, that of "
    "the models that predict several classes, if all were attacked on the same sample. Rest the pointer on a number for its seeds, "
    "examples and stage keys; the details of each cell list them too."
)
ColumnKey = tuple[str, str]
"""A metric, and the stage that measured it if several stages did."""


@frozen
class _Model:
    """What a row is about: a measured model of a cell on a task."""

    cell: str
    task: str
    name: str


def score_table(comparison: Comparison, summaries: Sequence[Summary], names: CellNames, speed_ups: Sequence[SpeedUp] = ()) -> PageTable:
    """Return the table. A cell without results has a row that says so."""
    metrics = main_metrics(comparison, all_numbers(comparison))
    shown = [summary for summary in summaries if summary.number.metric in metrics]
    by_model = _by_model(shown)
    stages = dict.fromkeys(key for found in by_model.values() for key in found)
    keys = sorted(stages, key=lambda key: metrics.index(key[0]))
    keys += [(SPEED_UP, "")] if any(one.ratio for one in speed_ups) else []
    texts = {key: metric_text(key[0]) for key in keys}
    doubts = _doubts(comparison, by_model)
    compared = {model: {key: one for key, one in found.items() if not doubts[model][key]} for model, found in by_model.items()}
    best = _best_values(compared, texts)
    remarks = Remarks()
    faster = {(one.cell, one.task): one for one in speed_ups}
    stubs = _Stubs(names, list(by_model))
    rows = []
    for cell in comparison.cells:
        models = [model for model in by_model if model.cell == cell.label]
        for model in models:
            found = by_model[model]
            marked = {key: best.get((model.task, key)) for key in compared[model]}
            cells = (_cell(found.get(key), text, marked.get(key)) for key, text in texts.items() if key[0] != SPEED_UP)
            last = [_speed_up(faster.get((model.cell, model.task)))] if (SPEED_UP, "") in texts else []
            rows.append(PageRow((*stubs.cells(cell, model), *cells, *last, remarks.cell(dict.fromkeys(chain(*doubts[model].values()))))))
        if not models:
            rows.append(PageRow((*stubs.cells(cell, None), *(PageCell() for _ in texts), PageCell()), unfinished=True))
    heads = [PageColumn(text.heading, f"{text.source}{stage and f', {stage}'}") for (_, stage), text in texts.items()]
    note = f"{NOTE} {speed_up.NOTE[0].upper()}{speed_up.NOTE[1:]}." if (SPEED_UP, "") in texts else NOTE
    return PageTable(
        "scores", "Results", *without_empty_columns([*stubs.columns, *heads, PageColumn("Remarks")], rows), note, tuple(remarks.texts)
    )


@frozen
class _Stubs:
    """The columns that identify a row: those of the cell, and where they differ the task and the model."""

    names: CellNames
    models: Sequence[_Model]

    @property
    def columns(self) -> list[PageColumn]:
        return [*self.names.columns, PageColumn("Task", numeric=False, filter=True), PageColumn("Model", numeric=False)]

    def cells(self, cell: Cell, model: _Model | None) -> list[PageCell]:
        several_tasks = len({model.task for model in self.models}) > 1 and not self.names.has_tasks
        several_models = len({(model.cell, model.task) for model in self.models}) < len(self.models)
        return [
            *self.names.stub(cell),
            PageCell.of_text(model.task if model and several_tasks else ""),
            PageCell.of_text(model.name if model and several_models else ""),
        ]


def _by_model(summaries: Sequence[Summary]) -> dict[_Model, dict[ColumnKey, Summary]]:
    ambiguous = ambiguous_metrics(summaries)
    found: dict[_Model, dict[ColumnKey, Summary]] = {}
    for summary in summaries:
        number = summary.number
        key = number.metric, number.stage if number.metric in ambiguous else ""
        found.setdefault(_Model(number.cell, number.task, checkpoint_name(number.of, number.checkpoint)), {})[key] = summary
    return found


def _doubts(comparison: Comparison, by_model: Mapping[_Model, Mapping[ColumnKey, Summary]]) -> dict[_Model, dict[ColumnKey, list[str]]]:
    """Return why numbers of each model are not compared with those of others."""
    known = Comparability.of(comparison, (summary for found in by_model.values() for summary in found.values()))
    return {model: {key: known.doubts(summary) for key, summary in found.items()} for model, found in by_model.items()}


def _best_values(
    by_model: Mapping[_Model, Mapping[ColumnKey, Summary]], texts: Mapping[ColumnKey, MetricText]
) -> dict[tuple[str, ColumnKey], str]:
    """Return the best value by task and column, as it is shown. If all values look equal, none is the best."""
    values: dict[tuple[str, ColumnKey], list[float]] = {}
    for model, found in by_model.items():
        for key, summary in found.items():
            if texts[key].better:
                values.setdefault((model.task, key), []).append(summary.statistics.mean)
    best: dict[tuple[str, ColumnKey], str] = {}
    for (task, key), of_column in values.items():
        text = texts[key]
        if len({text.number(value) for value in of_column}) > 1:
            best[task, key] = text.number(max(of_column) if text.better > 0 else min(of_column))
    return best


def _cell(summary: Summary | None, text: MetricText, best: str | None) -> PageCell:
    if summary is None:
        return PageCell()
    return summary_cell(summary, text, best=text.number(summary.statistics.mean) == best)


def _speed_up(found: SpeedUp | None) -> PageCell:
    if found is None or found.ratio is None:
        return PageCell(title=found.reason if found else "")
    return statistics_cell(found.ratio, metric_text(SPEED_UP))
