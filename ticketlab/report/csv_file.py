"""Results as a csv file, one line per number, as plotting and statistics packages like them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from ticketlab import files
from ticketlab.errors import UsageError
from ticketlab.report.challenges import ChallengeCells, SubsetCells
from ticketlab.report.rows import Row
from ticketlab.report.statistics import Measure

COLUMNS = ("label", "task", "model", "scale", "seeds", "attack", "measure", "mean", "deviation", "low", "high", "n", "set", "subset")


@frozen
class _Line:
    name: str
    measure: Measure | None
    attack: str = ""
    of: str = ""
    subset: str = ""


def write_csv(rows: Sequence[Row], path: str | Path) -> None:
    """Write the rows to a file, atomically, in the place of nothing but such a file.

    Fractions are between 0 and 1; ``low`` and ``high`` bound the 95 % interval. ``set`` names the challenge set, and is empty for the
    task's own split; ``subset`` is the part of the set that the number is about, ``COLUMN=VALUE``.

    :raises UsageError: another file is there.
    """
    check_place(path)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        for line in _lines(row):
            if line.measure is not None:
                low, high = line.measure.interval or (None, None)
                numbers = (line.measure.mean, line.measure.deviation, low, high, line.measure.n)
                about = (row.label, row.task, row.model, row.scale, row.seeds, line.attack, line.name)
                writer.writerow((*about, *numbers, line.of, line.subset))
    files.write_text(Path(path), text.getvalue())


def check_place(path: str | Path) -> None:
    """Make sure that a file may be written: nothing is there, or numbers that were written before.

    :raises UsageError: there is something else.
    """
    path = Path(path)
    head = ",".join(COLUMNS).encode()
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            if file.read(len(head)) != head:
                raise UsageError(f"{path}: there is such a file already, and it holds no numbers of ticketlab; name another, or remove it")


def _lines(row: Row) -> Iterator[_Line]:
    yield _Line("clean", row.clean)
    if row.own_split is not None:
        yield from _judged(row.own_split, "")
    for cells in row.challenges:
        yield _Line("accuracy", cells.accuracy, of=cells.name)
        yield from _judged(cells, cells.name)
    for group, measure in row.sparsity.items():
        yield _Line(f"sparsity {group}", measure)
    for name in ("parameters", "search_seconds", "training_seconds", "seconds", "latency"):
        yield _Line(name, getattr(row, name))
    for attack in row.attacks:
        for name in ("clean", "aua", "suc", "queries", "words", "similarity"):
            yield _Line(name, getattr(attack, name), attack=attack.name)
        for name in ("errors", "timeouts"):
            yield _Line(name, Measure(getattr(attack, name)), attack=attack.name)


def _judged(cells: ChallengeCells, of: str) -> Iterator[_Line]:
    """Yield what the predictions on a set say beside their accuracy."""
    yield _Line("weighted_f1", cells.weighted_f1, of=of)
    yield _Line("majority", _fact(cells.majority, cells.n), of=of)
    yield _Line("majority_f1", _fact(cells.majority_f1, cells.n), of=of)
    yield _Line("outside", cells.outside, of=of)
    for label, share in cells.labels.items():
        yield _Line(f"examples {label}", _fact(share, cells.n), of=of)
    for kind, measures in (("predicted", cells.predicted), ("recall", cells.recall)):
        for label, measure in measures.items():
            yield _Line(f"{kind} {label}", measure, of=of)
    for column, subsets in cells.subsets.items():
        for value, subset in subsets.items():
            yield from _subset(subset, of, f"{column}={value}")


def _subset(cells: SubsetCells, of: str, subset: str) -> Iterator[_Line]:
    yield _Line("accuracy", cells.accuracy, of=of, subset=subset)
    yield _Line("majority", _fact(cells.majority, cells.n), of=of, subset=subset)
    for label, measure in cells.recall.items():
        yield _Line(f"recall {label}", measure, of=of, subset=subset)


def _fact(value: float | None, n: int) -> Measure | None:
    """Return a number that belongs to the examples, whatever a model says of them: without deviation and interval."""
    return None if value is None else Measure(value, n=n)
