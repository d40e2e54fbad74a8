"""The tables of class distributions: what the examples of a set are, and what each model says they are.

A model that always says the commonest label looks good on a set of mostly that label; here it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticketlab.report.cells import share, shares
from ticketlab.report.challenges import ChallengeCells
from ticketlab.report.layout import EMPTY, Block, Sheet, headings
from ticketlab.report.rows import Row, by_task

OUTSIDE = "outside"
WHAT_OUTSIDE = f"{OUTSIDE}: predictions that mean no label of the set"
Models = Sequence[tuple[str, ChallengeCells]]


def sheets(rows: Sequence[Row]) -> Iterator[Sheet]:
    """Yield a sheet for each challenge set, and before those of a task one for its own split; none without challenge sets."""
    several = len(by_task(rows)) > 1
    for same in by_task(rows):
        task = same[0].task
        names = dict.fromkeys(cells.name for row in same for cells in row.challenges)
        if names:
            yield from _sheet(f"{task}: classes", [(row.label, row.own_split) for row in same if row.own_split is not None])
        for name in names:
            models = [(row.label, cells) for row in same for cells in row.challenges if cells.name == name]
            yield from _sheet(f"{task}, {name}: classes" if several else f"{name}: classes", models)


def _sheet(title: str, models: Models) -> Iterator[Sheet]:
    """Yield the sheet, unless the results say nothing about labels."""
    labels = list(dict.fromkeys(label for _, cells in models for label in (*cells.labels, *cells.predicted)))
    if not labels:
        return
    outside = any(cells.outside is not None and cells.outside.mean for _, cells in models)
    stub = [(label, shares(cells.labels.get(label, 0) for _, cells in models)) for label in labels] + [(OUTSIDE, EMPTY)] * outside
    blocks = []
    for over, (_, cells) in zip(headings([model for model, _ in models]), models, strict=True):
        predicted = [share(cells.predicted.get(label)) for label in labels] + [share(cells.outside)] * outside
        blocks.append(Block((f"{over}Predicted %",), [(cell,) for cell in predicted]))
    yield Sheet(title, Block(("", "Examples %"), stub, WHAT_OUTSIDE if outside else ""), tuple(blocks))
