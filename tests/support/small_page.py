"""A small study for tests of pages: six cells, one of which failed."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve
from support.measured_cells import compared, measured_cell

from ticketlab.report.cells import Cell, Comparison, Published

ODD = "<script>alert(1)</script> \"quoted\" 'a' & \u202e\x1b[31m"
"""A text that must not reach a page as it is."""
DATA = {
    **{"fingerprint": "f" * 8, "rows": {"train": 1200, "dev": 0, "test": 40}, "columns": ["text"], "labels": ["yes", "no"]},
    **{"notices": ["a notice"], "warnings": ["a warning"], "dropped": {"empty": 2}, "counts": {}, "measures": [], "positive_label": None},
}


def small_study(lab: Path) -> Comparison:
    """Return a study of two factors. The baseline is the level ``random``, one cell repeats another, and one failed."""
    cells = []
    for pruner, right in (("random", "1100"), ("imp", "1110")):
        for sparsity in ("0.1", "0.3", "0.5"):
            levels = {"pruner": pruner, "sparsity": sparsity}
            if (pruner, sparsity) == ("imp", "0.5"):
                cells.append(
                    Cell(", ".join(levels.values()), levels, lab / "runs" / "missing", None, error="search: the loss is not finite")
                )
                continue
            cell = measured_cell(
                lab, levels, clean=(right * 10, "1000" * 10), attack=("ffsk" * 5, "fssk" * 5), seconds=(9.0, 8.0), ood=("10", "11")
            )
            (cell.folder / "recipe.toml").write_text(f'summary = "<b>{pruner}</b>"\n', encoding="utf-8")
            (cell.folder / "environment.json").write_text('{"python": "3.11", "packages": {"torch": "2.13"}}', encoding="utf-8")
            results = {**(cell.results or {}), "data": {"sst2": DATA}}
            cells.append(evolve(cell, results=results, same_as="random, 0.1" if (pruner, sparsity) == ("random", "0.3") else ""))
    published = (Published({"pruner": "imp", "sparsity": "0.1"}, "clean.accuracy", 91.5),)
    return evolve(compared(*cells, baseline="random"), title="Pruners & sparsities", published=published)
