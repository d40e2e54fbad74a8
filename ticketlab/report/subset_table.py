"""The tables of a challenge set's subsets: accuracy and the recall of each label, a line per value of a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from ticketlab.report.cells import share, shares
from ticketlab.report.challenges import SubsetCells
from ticketlab.report.layout import EMPTY, Block, Sheet, headings
from ticketlab.report.rows import ResultRow, by_task

FEW = 12
"""Columns with more values are better shown after everything else."""
MOST = 40
"""Columns with more values are not shown."""
CAPTION = "majority: always saying the commonest label of the line; under each label its recall"


@frozen
class _Column:
    """One column of one set, with the subsets by value of each model that was evaluated on the set."""

    title: str
    models: Sequence[tuple[str, Mapping[str, SubsetCells]]]

    @property
    def values(self) -> list[str]:
        return list(dict.fromkeys(value for _, subsets in self.models for value in subsets))


def sheets(rows: Sequence[ResultRow]) -> tuple[list[Sheet], list[Sheet]]:
    """Return a sheet for each challenge set and column: those with few values, and those that are better shown last."""
    columns = list(_columns(rows))
    few = [_sheet(column) for column in columns if len(column.values) <= FEW]
    return few, [_sheet(column) for column in columns if FEW < len(column.values) <= MOST]


def left_out(rows: Sequence[ResultRow]) -> list[str]:
    """Return a line about each column that has too many values to show."""
    return [
        f"{column.title}: {len(column.values)} values are too many for a table; their numbers are in results.json and in the file of --csv"
        for column in _columns(rows)
        if len(column.values) > MOST
    ]


def _columns(rows: Sequence[ResultRow]) -> Iterator[_Column]:
    several = len(by_task(rows)) > 1
    for same in by_task(rows):
        found: dict[tuple[str, str], list[tuple[str, Mapping[str, SubsetCells]]]] = {}
        for row in same:
            for cells in row.challenges:
                for column, subsets in cells.subsets.items():
                    found.setdefault((cells.name, column), []).append((row.label, subsets))
        for (name, column), models in found.items():
            yield _Column(f"{same[0].task}, {name} by {column}" if several else f"{name} by {column}", models)


def _sheet(column: _Column) -> Sheet:
    in_column = [subsets for _, subsets in column.models]
    by_value = {value: [subsets[value] for subsets in in_column if value in subsets] for value in column.values}
    labels = list(dict.fromkeys(label for subsets in in_column for cells in subsets.values() for label in cells.recall))
    stub = [
        (value, " or ".join(dict.fromkeys(f"{one.n:,}" for one in cells)), shares(one.majority for one in cells))
        for value, cells in by_value.items()
    ]
    blocks = []
    for over, (_, subsets) in zip(headings([model for model, _ in column.models]), column.models, strict=True):
        heads = (f"{over}Acc %", *(f"{over}{label}\n%" for label in labels))
        blocks.append(Block(heads, [_cells(subsets.get(value), labels) for value in by_value]))
    return Sheet(column.title, Block(("", "n", "Majority\n%"), stub, CAPTION), tuple(blocks))


def _cells(cells: SubsetCells | None, labels: Sequence[str]) -> tuple[str, ...]:
    if cells is None:
        return (EMPTY,) * (1 + len(labels))
    return share(cells.accuracy), *(share(cells.recall.get(label)) for label in labels)
