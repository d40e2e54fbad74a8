"""Metrics over the steps of a training, shared by the pictures of a search's gates and of convergence."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
from attrs import evolve

from ticketlab.figures.factors import Dimensions
from ticketlab.figures.line_chart import LineArguments, Positions, line_chart
from ticketlab.figures.measured import Measured
from ticketlab.report.cells import Comparison


def step_chart(comparison: Comparison, entries: Sequence[Measured], arguments: LineArguments, *, measurements: bool) -> alt.TopLevelMixin:
    """Return a chart of entries with a step against it. With ``measurements`` several models or stages of a cell are told apart.

    A training that several cells share, such as a search from which they draw at different sparsities, is that of the first.
    """
    distinct = {(entry.metric, entry.step, entry.measurement, entry.task, entry.keys): entry for entry in reversed(entries)}
    kept = [entry if measurements else evolve(entry, measurement="") for entry in reversed(distinct.values())]
    positions = Positions("step", [float(entry.step or 0) for entry in kept])
    return line_chart(comparison, Dimensions.of(comparison, kept), kept, positions, arguments)
