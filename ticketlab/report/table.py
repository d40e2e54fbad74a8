"""The table of a run on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ticketlab.report.rows import AttackCells, Row
from ticketlab.report.rows import rows as rows
from ticketlab.report.statistics import Measure

if TYPE_CHECKING:
    from rich.table import Table

EMPTY = "-"
Part = Literal["whole", "scores", "costs"]
WHAT_COSTS = "seconds of optimizer steps, parameters that the last training can change"


def title(results: Mapping[str, Any], model: str | None = None) -> str:
    """Return what a table of these results is called; ``model`` stands for the one that the results name.

    A reduced scale is named: its numbers are not the paper's.
    """
    seeds = results["seeds"]
    scale = "" if results["scale"] == "full" else f", scale {results['scale']} (reduced)"
    return f"{', '.join(results['tasks'])}, model {model or results['model']}, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}{scale}"


def render(rows: Sequence[Row], title: str, part: Part = "whole") -> Table:
    """Return a table with one line per row. Fractions are shown in per cent, with their deviation and interval.

    ``part`` leaves half of the columns out: ``scores`` has accuracies, ``costs`` what the ticket removes and what making the model took.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    scores, costs = part != "costs", part != "scores"
    names = list(dict.fromkeys(cells.name for row in rows for cells in row.attacks)) if scores else []
    several = len({row.task for row in rows}) > 1
    failed = scores and any(cells.errors for row in rows for cells in row.attacks)
    sparse = costs and any(row.sparsity for row in rows)
    trained = costs and any(row.training_seconds for row in rows)
    searched = any(row.search_seconds for row in rows)
    caption = "; ".join(text for text in (_how_measured(rows) if scores else "", WHAT_COSTS if trained else "") if text)
    table = Table(title=escape(title), caption=caption, box=box.SIMPLE, title_justify="left", caption_justify="left")
    table.add_column("", overflow="fold")
    if several:
        table.add_column("Task", overflow="fold")
    if scores:
        table.add_column("Clean %", justify="right")
    for name in names:
        for column in ("Aua %", "Suc %", "#Query"):
            table.add_column(f"{escape(name)}\n{column}", justify="right")
    spending = ["Parameters", *["Search s"] * searched, "Training s"] * trained
    for column in ["Errors"] * failed + ["Sparsity %"] * sparse + spending:
        table.add_column(column, justify="right")
    for row in rows:
        found = {cells.name: cells for cells in row.attacks}
        errors = [str(sum(cells.errors for cells in row.attacks))] * failed
        cells = [part for name in names for part in _attack(found.get(name))]
        labels = [escape(row.label), *[escape(row.task)] * several]
        spent = [_millions(row.parameters), *[_number(row.search_seconds)] * searched, _number(row.training_seconds)] * trained
        table.add_row(*labels, *[_percent(row.clean)] * scores, *cells, *errors, *[_sparsity(row.sparsity)] * sparse, *spent)
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


def _sparsity(groups: Mapping[str, Measure]) -> str:
    """Name the groups, unless the ticket is of single weights."""
    if list(groups) == ["weights"]:
        return _percent(groups["weights"])
    return "\n".join(f"{name} {_percent(measure)}" for name, measure in groups.items()) or EMPTY


def _millions(measure: Measure | None) -> str:
    if measure is None:
        return EMPTY
    return f"{measure.mean / 1e6:.1f} M" if measure.mean >= 1e5 else f"{measure.mean:,.0f}"


def _number(measure: Measure | None) -> str:
    if measure is None:
        return EMPTY
    return f"{measure.mean:.1f}" + ("" if measure.deviation is None else f" ± {measure.deviation:.1f}")


def _how_measured(rows: Sequence[Row]) -> str:
    over = "mean ± deviation over seeds; " if any(row.seeds > 1 for row in rows) else ""
    clean = _sizes(row.clean for row in rows if row.clean not in [cells.clean for cells in row.attacks])
    attacked = _sizes(cells.aua for row in rows for cells in row.attacks)
    sizes = ", ".join(part for part in (clean and f"{clean} examples evaluated", attacked and f"{attacked} attacked") if part)
    return f"{over}in brackets the 95 % Wilson interval{f' for one seed ({sizes})' if sizes else ''}"


def _sizes(measures: Any) -> str:
    sizes = sorted({measure.n for measure in measures if measure is not None and measure.n is not None})
    return " or ".join(str(size) for size in sizes)
