"""The table of a run on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ticketlab.report.rows import AttackCells, Row
from ticketlab.report.rows import rows as rows
from ticketlab.report.statistics import Measure

if TYPE_CHECKING:
    from rich.table import Table

EMPTY = "-"


def title(results: Mapping[str, Any], model: str | None = None) -> str:
    """Return what a table of these results is called; ``model`` stands for the one that the results name.

    A reduced scale is named: its numbers are not the paper's.
    """
    seeds = results["seeds"]
    scale = "" if results["scale"] == "full" else f", scale {results['scale']} (reduced)"
    return f"{', '.join(results['tasks'])}, model {model or results['model']}, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}{scale}"


def render(rows: Sequence[Row], title: str) -> Table:
    """Return a table with one line per row. Fractions are shown in per cent, with their deviation and interval."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    names = list(dict.fromkeys(cells.name for row in rows for cells in row.attacks))
    several = len({row.task for row in rows}) > 1
    failed = any(cells.errors for row in rows for cells in row.attacks)
    made = any(row.seconds for row in rows)
    table = Table(title=escape(title), caption=_caption(rows), box=box.SIMPLE, title_justify="left", caption_justify="left")
    table.add_column("", overflow="fold")
    if several:
        table.add_column("Task", overflow="fold")
    table.add_column("Clean %", justify="right")
    for name in names:
        for column in ("Aua %", "Suc %", "#Query"):
            table.add_column(f"{escape(name)}\n{column}", justify="right")
    for column in ["Errors"] * failed + ["Sparsity %", "Seconds"] * made:
        table.add_column(column, justify="right")
    for row in rows:
        found = {cells.name: cells for cells in row.attacks}
        errors = [str(sum(cells.errors for cells in row.attacks))] * failed
        cells = [part for name in names for part in _attack(found.get(name))]
        labels = [escape(row.label), *[escape(row.task)] * several]
        table.add_row(*labels, _percent(row.clean), *cells, *errors, *[_percent(row.sparsity), _number(row.seconds)] * made)
    return table


def _attack(cells: AttackCells | None) -> tuple[str, str, str]:
    if cells is None:
        return EMPTY, EMPTY, EMPTY
    return _percent(cells.aua), _percent(cells.suc), _number(cells.queries)


def _percent(measure: Measure | None) -> str:
    if measure is None:
        return EMPTY
    interval = ""
    if measure.interval is not None:
        low, high = (100 * bound for bound in measure.interval)
        interval = f"\n({low:.1f} to {high:.1f})"
    deviation = "" if measure.deviation is None else f" ± {100 * measure.deviation:.1f}"
    return f"{100 * measure.mean:.1f}{deviation}{interval}"


def _number(measure: Measure | None) -> str:
    if measure is None:
        return EMPTY
    return f"{measure.mean:.1f}" + ("" if measure.deviation is None else f" ± {measure.deviation:.1f}")


def _caption(rows: Sequence[Row]) -> str:
    over = "mean ± deviation over seeds; " if any(row.seeds > 1 for row in rows) else ""
    clean = _sizes(row.clean for row in rows if row.clean not in [cells.clean for cells in row.attacks])
    seconds = "; seconds are those of making the model" if any(row.seconds for row in rows) else ""
    attacked = _sizes(cells.aua for row in rows for cells in row.attacks)
    sizes = ", ".join(part for part in (clean and f"{clean} examples evaluated", attacked and f"{attacked} attacked") if part)
    return f"{over}in brackets the 95 % Wilson interval{f' for one seed ({sizes})' if sizes else ''}{seconds}"


def _sizes(measures: Any) -> str:
    sizes = sorted({measure.n for measure in measures if measure is not None and measure.n is not None})
    return " or ".join(str(size) for size in sizes)
