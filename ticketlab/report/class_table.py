"""The tables of classes: what the examples of a set are, what each model says they are, and how many of each class it finds.

A model that always says the commonest label looks good on a set of mostly that label; here it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticketlab.report.cells import share, shares
from ticketlab.report.challenges import ChallengeCells
from ticketlab.report.layout import EMPTY, Block, Sheet, headings
from ticketlab.report.rows import ResultRow, by_task

OUTSIDE = "outside"
WHAT = "recall: of the examples of a class, the part that is predicted right"
WHAT_OUTSIDE = f"{OUTSIDE}: predictions that mean no label of the set"
MOST = 40
"""Sets of more classes are not shown."""
Models = Sequence[tuple[str, ChallengeCells]]


def sheets(rows: Sequence[ResultRow]) -> Iterator[Sheet]:
    """Yield a sheet for each task's own split, and after it one for each challenge set."""
    for title, models in _sets(rows):
        labels = _labels(models)
        if 0 < len(labels) <= MOST:
            yield _sheet(title, models, labels)


def left_out(rows: Sequence[ResultRow]) -> list[str]:
    """Return a line about each set that has too many classes to show."""
    return [
        f"{title}: {len(labels)} are too many for a table; their numbers are in results.json and in the file of --csv"
        for title, models in _sets(rows)
        if len(labels := _labels(models)) > MOST
    ]


def _sets(rows: Sequence[ResultRow]) -> Iterator[tuple[str, Models]]:
    """Yield the title and the models of each set: splits that were evaluated, then challenge sets."""
    several = len(by_task(rows)) > 1
    for same in by_task(rows):
        task = same[0].task
        for split in dict.fromkeys(row.split for row in same if row.own_split is not None):
            models = [(row.label, row.own_split) for row in same if row.own_split is not None and row.split == split]
            yield f"{task}{'' if split == 'test' else f', {split}'}: classes", models
        for name in dict.fromkeys(cells.name for row in same for cells in row.challenges):
            judged = [(row.label, cells) for row in same for cells in row.challenges if cells.name == name]
            yield f"{task}, {name}: classes" if several else f"{name}: classes", judged


def _labels(models: Models) -> list[str]:
    return list(dict.fromkeys(label for _, cells in models for label in (*cells.labels, *cells.predicted)))


def _sheet(title: str, models: Models, labels: Sequence[str]) -> Sheet:
    outside = any(cells.outside is not None and cells.outside.mean for _, cells in models)
    stub = [(label, shares(cells.labels.get(label, 0) for _, cells in models)) for label in labels] + [(OUTSIDE, EMPTY)] * outside
    blocks = []
    for over, (_, cells) in zip(headings([model for model, _ in models]), models, strict=True):
        predicted = [share(cells.predicted.get(label)) for label in labels] + [share(cells.outside)] * outside
        recall = [share(cells.recall.get(label)) for label in labels] + [EMPTY] * outside
        blocks.append(Block((f"{over}Predicted %", f"{over}Recall %"), list(zip(predicted, recall, strict=True))))
    return Sheet(title, Block(("", "Examples %"), stub, f"{WHAT}; {WHAT_OUTSIDE}" if outside else WHAT), tuple(blocks))
