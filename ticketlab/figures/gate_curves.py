"""The gates of a search that are exactly 0 or 1, and the regulariser R, over its steps (RobusT, Figures 1 and 5)."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from ticketlab.core.errors import UsageError
from ticketlab.figures.line_chart import LineArguments
from ticketlab.figures.measured import check_finished, measured
from ticketlab.figures.run_factors import with_factors
from ticketlab.figures.spread import Band
from ticketlab.figures.step_curves import step_chart
from ticketlab.report.cells import Comparison
from ticketlab.report.numbers import all_numbers

MEASURES = (
    *("gates_at_zero", "gates_at_one", "penalty"),
    *(f"{group}_{measure}" for group in ("heads", "neurons") for measure in ("at_zero", "at_one", "open")),
)


def gates(
    comparison: Comparison,
    *,
    stage: str = "search",
    color: str | Sequence[str] | None = None,
    facet: str | None = None,
    band: Band = "deviation",
    title: str = "",
    width: int = 640,
) -> alt.TopLevelMixin:
    """Return a chart of the share of gates at 0, of those at 1, and of R over the steps of a search; one line per level of ``color``.

    For gates on heads and neurons these are separate panels, and R is the expected share of open heads or neurons.

    :raises UsageError: no finished cell has a search that records its gates, or a factor does not exist.
    """
    comparison = with_factors(comparison, color, facet)
    check_finished(comparison)
    known = {number.metric for number in all_numbers(comparison)}
    metrics = [name for measure in MEASURES if (name := f"history.{stage}.{measure}") in known]
    if not metrics:
        raise UsageError(
            f"stage: no `{stage}` of a finished cell has recorded its gates; only one with `hard-concrete` or `structured-hard-concrete` "
            "records them"
        )
    entries = measured(comparison, metrics, argument="stage")
    entries.sort(key=lambda entry: metrics.index(entry.metric))
    arguments = LineArguments(color, facet, band, "linear", title or "Gates during the search", width)
    return step_chart(comparison, entries, arguments, measurements=False)
