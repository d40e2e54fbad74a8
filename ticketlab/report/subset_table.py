"""The tables of a challenge set's subsets: accuracy and the recall of each label, one line per value of a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from ticketlab.report.layout import EMPTY, ColumnGroup, TableData, model_headings
from ticketlab.report.number_format import distinct_percents, percent
from ticketlab.report.rows import ResultRow, group_by_task
from ticketlab.report.set_summary import SubsetSummary

FEW_VALUES = 12
"""Columns with more values are shown after all others."""
MAX_VALUES = 40
"""Columns with more values are not shown."""
CAPTION = "majority: always predicting the most common label of the subset; under each label: its recall"


@frozen
class _SubsetColumn:
    """A column of a challenge set, with the subsets by value for each model that was evaluated on the set."""

    title: str
    models: Sequence[tuple[str, Mapping[str, SubsetSummary]]]

    @property
    def values(self) -> list[str]:
        return list(dict.fromkeys(value for _, subsets in self.models for value in subsets))


def subset_tables(rows: Sequence[ResultRow]) -> tuple[list[TableData], list[TableData]]:
    """Return a table for each challenge set and column: first those with few values, then those to be shown last."""
    columns = list(_columns(rows))
    few = [_subset_table(column) for column in columns if len(column.values) <= FEW_VALUES]
    return few, [_subset_table(column) for column in columns if FEW_VALUES < len(column.values) <= MAX_VALUES]


def omitted_columns(rows: Sequence[ResultRow]) -> list[str]:
    """Return a line about each column that has too many values to show."""
    return [
        f"{column.title}: {len(column.values)} values are too many for a table; their numbers are in results.json and the --csv file"
        for column in _columns(rows)
        if len(column.values) > MAX_VALUES
    ]


def _columns(rows: Sequence[ResultRow]) -> Iterator[_SubsetColumn]:
    several = len(group_by_task(rows)) > 1
    for same_task in group_by_task(rows):
        by_column: dict[tuple[str, str], list[tuple[str, Mapping[str, SubsetSummary]]]] = {}
        for row in same_task:
            for summary in row.challenges:
                for column, subsets in summary.subsets.items():
                    by_column.setdefault((summary.name, column), []).append((row.label, subsets))
        for (name, column), models in by_column.items():
            yield _SubsetColumn(f"{same_task[0].task}, {name} by {column}" if several else f"{name} by {column}", models)


def _subset_table(column: _SubsetColumn) -> TableData:
    by_model = [subsets for _, subsets in column.models]
    by_value = {value: [subsets[value] for subsets in by_model if value in subsets] for value in column.values}
    labels = list(dict.fromkeys(label for subsets in by_model for subset in subsets.values() for label in subset.recall))
    stub = [
        (
            value,
            " or ".join(dict.fromkeys(f"{subset.n:,}" for subset in subsets)),
            distinct_percents(subset.majority for subset in subsets),
        )
        for value, subsets in by_value.items()
    ]
    groups = []
    for heading, (_, subsets) in zip(model_headings([model for model, _ in column.models]), column.models, strict=True):
        heads = (f"{heading}Acc %", *(f"{heading}{label}\n%" for label in labels))
        groups.append(ColumnGroup(heads, [_cells(subsets.get(value), labels) for value in by_value]))
    return TableData(column.title, ColumnGroup(("", "n", "Majority\n%"), stub, CAPTION), tuple(groups))


def _cells(subset: SubsetSummary | None, labels: Sequence[str]) -> tuple[str, ...]:
    if subset is None:
        return (EMPTY,) * (1 + len(labels))
    return percent(subset.accuracy), *(percent(subset.recall.get(label)) for label in labels)
