"""The tables of classes: for each set, the share of each class in the examples and in each model's predictions, and its recall.

They expose a model that always predicts the most common label, which scores well on a set that consists mostly of that label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticketlab.report.layout import EMPTY, ColumnGroup, TableData, model_headings
from ticketlab.report.number_format import distinct_percents, percent
from ticketlab.report.rows import ResultRow, group_by_task
from ticketlab.report.set_summary import SetSummary

OUTSIDE = "outside"
RECALL_NOTE = "recall: the fraction of a class's examples that are predicted correctly"
OUTSIDE_NOTE = f"{OUTSIDE}: predictions that map to no label of the set"
MAX_CLASSES = 40
"""Sets with more classes are not shown."""
Models = Sequence[tuple[str, SetSummary]]


def class_tables(rows: Sequence[ResultRow]) -> Iterator[TableData]:
    """Yield, task by task, a table for each evaluated split and then one for each challenge set."""
    for title, models in _sets(rows):
        labels = _labels(models)
        if 0 < len(labels) <= MAX_CLASSES:
            yield _class_table(title, models, labels)


def omitted_sets(rows: Sequence[ResultRow]) -> list[str]:
    """Return a line about each set that has too many classes to show."""
    return [
        f"{title}: {len(labels)} are too many for a table; their numbers are in results.json and the --csv file"
        for title, models in _sets(rows)
        if len(labels := _labels(models)) > MAX_CLASSES
    ]


def _sets(rows: Sequence[ResultRow]) -> Iterator[tuple[str, Models]]:
    """Yield the title and the models of each set: for each task its evaluated splits, then its challenge sets."""
    several = len(group_by_task(rows)) > 1
    for same_task in group_by_task(rows):
        task = same_task[0].task
        for split in dict.fromkeys(row.split for row in same_task if row.own_split is not None):
            models = [(row.label, row.own_split) for row in same_task if row.own_split is not None and row.split == split]
            yield f"{task}{'' if split == 'test' else f', {split}'}: classes", models
        for name in dict.fromkeys(summary.name for row in same_task for summary in row.challenges):
            evaluated = [(row.label, summary) for row in same_task for summary in row.challenges if summary.name == name]
            shown = f"{task}, {name}" if several else f"{name} (challenge set)" if name == task else name
            yield f"{shown}: classes", evaluated


def _labels(models: Models) -> list[str]:
    return list(dict.fromkeys(label for _, summary in models for label in (*summary.labels, *summary.predicted)))


def _class_table(title: str, models: Models, labels: Sequence[str]) -> TableData:
    outside = any(summary.outside is not None and summary.outside.mean for _, summary in models)
    stub = [(label, distinct_percents(summary.labels.get(label, 0) for _, summary in models)) for label in labels]
    stub += [(OUTSIDE, EMPTY)] * outside
    groups = []
    for heading, (_, summary) in zip(model_headings([model for model, _ in models]), models, strict=True):
        predicted = [percent(summary.predicted.get(label)) for label in labels] + [percent(summary.outside)] * outside
        recall = [percent(summary.recall.get(label)) for label in labels] + [EMPTY] * outside
        groups.append(ColumnGroup((f"{heading}Predicted %", f"{heading}Recall %"), list(zip(predicted, recall, strict=True))))
    note = f"{RECALL_NOTE}; {OUTSIDE_NOTE}" if outside else RECALL_NOTE
    return TableData(title, ColumnGroup(("", "Examples %"), stub, note), tuple(groups))
