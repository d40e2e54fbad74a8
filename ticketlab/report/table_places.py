"""Where the numbers, cells and published numbers of a comparison belong in its table: their levels of the rows' and columns' factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from ticketlab.lab.results import checkpoint_name
from ticketlab.report.cells import Cell, Comparison, Factor, Published
from ticketlab.report.summaries import Summary
from ticketlab.report.table_spec import Axes, levels_of

MODEL = "measured model"
"""The factor of rows if a cell measured several models, or one metric in several stages."""
CELL = "cell"
"""The factor of rows if several cells have the same levels."""
UNKNOWN = ""
"""The level of a cell without results in a factor that only results have: task, model, scale, or the measured model."""

Levels = Mapping[str, str]


@frozen
class Places:
    """The factors of rows and columns, and the level of each summary, cell and published number in each of these factors.

    ``cells`` are those without a number in the table. A published number that names no level of a factor is of all its levels; numbers
    of levels that the comparison does not have are in ``elsewhere``.
    """

    rows: tuple[Factor, ...]
    columns: tuple[Factor, ...]
    summaries: tuple[tuple[Levels, Summary], ...]
    cells: tuple[tuple[Levels, Cell], ...]
    published: tuple[tuple[Levels, Published], ...]
    elsewhere: tuple[Published, ...]

    def row_keys(self) -> list[Levels]:
        """Return the levels of each row, in the order of the factors' levels. Rows of published numbers alone are among them."""
        return _in_order(self.rows, (*self.summaries, *self.cells, *self.published))

    def column_keys(self) -> list[Levels]:
        """Return the levels of each group of columns, in the order of the factors' levels."""
        keys = _in_order(self.columns, (*self.summaries, *self.cells, *self.published))
        return [key for key in keys if UNKNOWN not in key.values()] or keys


def find_places(comparison: Comparison, axes: Axes, summaries: Sequence[Summary]) -> Places:
    """Return the places of the cells of a comparison, of their summaries and of the published numbers."""
    models = _model_names(summaries)
    rows = (*axes.rows, *_distinguishing(comparison, summaries, models))
    names = [factor.name for factor in (*rows, *axes.columns)]
    measured = {summary.number.cell for summary in summaries}
    of_cells = [
        ({name: {**cell.levels, CELL: cell.label}.get(name, UNKNOWN) for name in names}, cell)
        for cell in comparison.cells
        if cell.label not in measured
    ]
    of_summaries = []
    for summary, model in zip(summaries, models, strict=True):
        levels = {**levels_of(summary.number), CELL: summary.number.cell, MODEL: model}
        of_summaries.append(({name: levels.get(name, UNKNOWN) for name in names}, summary))
    of_published, elsewhere = [], []
    for one in comparison.published:
        if one.metric in axes.metrics:
            if all(name in names or axes.constant.get(name) == level for name, level in one.levels.items()):
                of_published.append(({name: level for name, level in one.levels.items() if name in names}, one))
            else:
                elsewhere.append(one)
    return Places(rows, axes.columns, tuple(of_summaries), tuple(of_cells), tuple(of_published), tuple(elsewhere))


def _model_names(summaries: Sequence[Summary]) -> list[str]:
    """Return the name of each summary's model, with the stage if several stages measured the metric of the model."""
    names = [checkpoint_name(summary.number.of, summary.number.checkpoint) for summary in summaries]
    identities = [
        (summary.number.cell, summary.number.task, summary.number.metric, name) for summary, name in zip(summaries, names, strict=True)
    ]
    measured = Counter(identities)
    return [
        f"{name}, {summary.number.stage}" if measured[identity] > 1 else name
        for summary, name, identity in zip(summaries, names, identities, strict=True)
    ]


def _distinguishing(comparison: Comparison, summaries: Sequence[Summary], models: Sequence[str]) -> Iterator[Factor]:
    """Yield factors that tell apart what has the same levels: cells, and the measured models of a cell."""
    if len({tuple(sorted(cell.levels.items())) for cell in comparison.cells}) < len(comparison.cells):
        yield Factor(CELL, tuple(cell.label for cell in comparison.cells))
    of_cells: dict[tuple[str, str], set[str]] = {}
    for summary, model in zip(summaries, models, strict=True):
        of_cells.setdefault((summary.number.cell, summary.number.task), set()).add(model)
    if any(len(found) > 1 for found in of_cells.values()):
        yield Factor(MODEL, tuple(dict.fromkeys(models)))


def _in_order(factors: Sequence[Factor], places: Iterable[tuple[Levels, object]]) -> list[Levels]:
    """Return the combinations of levels that occur, each once. Levels that a factor does not list come last."""
    order = {factor.name: {level: number for number, level in enumerate(factor.levels)} for factor in factors}
    found = dict.fromkeys(tuple(place[name] for name in order) for place, _ in places if order.keys() <= place.keys())
    keys = [dict(zip(order, levels, strict=True)) for levels in found]
    return sorted(keys, key=lambda key: [order[name].get(level, len(order[name])) for name, level in key.items()])
