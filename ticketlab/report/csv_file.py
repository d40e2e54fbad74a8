"""Results as a csv file, one line per number, as plotting and statistics packages like them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from ticketlab import files
from ticketlab.report.rows import Row
from ticketlab.report.statistics import Measure

COLUMNS = ("label", "task", "model", "scale", "seeds", "attack", "measure", "mean", "deviation", "low", "high", "n")


def write_csv(rows: Sequence[Row], path: str | Path) -> None:
    """Write the rows to a file, atomically. Fractions are between 0 and 1; ``low`` and ``high`` bound their 95 % interval."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        for attack, name, measure in _measures(row):
            low, high = measure.interval or (None, None)
            numbers = (measure.mean, measure.deviation, low, high, measure.n)
            writer.writerow((row.label, row.task, row.model, row.scale, row.seeds, attack, name, *numbers))
    files.write_text(Path(path), text.getvalue())


def _measures(row: Row) -> Iterator[tuple[str, str, Measure]]:
    found: list[tuple[str, str, Measure | None]] = [("", "clean", row.clean)]
    found += [("", f"sparsity {group}", measure) for group, measure in row.sparsity.items()]
    for name in ("parameters", "search_seconds", "training_seconds", "seconds", "latency"):
        found.append(("", name, getattr(row, name)))
    for cells in row.attacks:
        numbers = {"clean": cells.clean, "aua": cells.aua, "suc": cells.suc, "queries": cells.queries, "errors": Measure(cells.errors)}
        found += [(cells.name, name, measure) for name, measure in numbers.items()]
    yield from ((attack, name, measure) for attack, name, measure in found if measure is not None)
