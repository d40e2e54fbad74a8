"""Panels of lines: metrics against the position of each entry, one panel per metric and level of a factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
from attrs import frozen

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted, printable
from ticketlab.figures import captions, theme
from ticketlab.figures.factors import (
    Dimensions,
    color_factors,
    facet_factor,
    in_panel,
    named,
    ordered,
    panel_levels,
    recipe_of,
    series_labels,
)
from ticketlab.figures.lines import Axes, Row, Shared, legend_of, panel
from ticketlab.figures.measured import Measured
from ticketlab.figures.metric_labels import MetricLabel, label_of
from ticketlab.figures.positions import AxisScale, domain, is_geometric
from ticketlab.figures.spread import Band, Spread, spread
from ticketlab.report.cells import Comparison, Factor


@frozen
class Positions:
    """The position of each entry on the horizontal axis, None for a baseline.

    ``factor`` is the factor on the axis, if it is one. ``determines`` says that the axis shows another number of the entries, which may
    follow from a factor. ``categories`` are positions that are no numbers, in their order.
    """

    title: str
    values: Sequence[float | str | None]
    factor: Factor | None = None
    determines: bool = False
    categories: tuple[str, ...] = ()


@frozen
class LineArguments:
    """The arguments that pictures of lines share."""

    color: str | Sequence[str] | None
    facet: str | None
    band: Band
    axis: AxisScale
    title: str
    width: int


def line_chart(
    comparison: Comparison, dimensions: Dimensions, entries: Sequence[Measured], positions: Positions, arguments: LineArguments
) -> alt.TopLevelMixin:
    """Return the chart of all metrics of the entries."""
    metrics = list(dict.fromkeys(entry.metric for entry in entries))
    colors = color_factors(dimensions, arguments.color)
    on_axis = [positions.factor] if positions.factor else []
    panels = facet_factor(dimensions, arguments.facet, entries, [*on_axis, *colors])
    placed = [*on_axis, *([panels] if panels else [])]
    x_of = [value if isinstance(value, float) else -1.0 for value in positions.values] if positions.determines else None
    labels = _labels(entries, positions, series_labels(dimensions, entries, colors, placed, x_of))
    lined = {label for label, position in zip(labels, positions.values, strict=True) if position is not None}
    order = ordered(labels, entries, dimensions, colors)
    series, baselines = [label for label in order if label in lined], [label for label in order if label not in lined]
    kind, levels = _kind(positions, arguments.axis), panel_levels(dimensions, entries, panels)
    columns, panel_width = theme.panel_columns(arguments.width, len(metrics) * len(levels), len(levels))
    size = panel_width, min(260, max(170, int(panel_width * 0.7)))
    shared = Shared(series, baselines, legend_of(order, arguments.width, colors))
    drawn, starts = [], {}
    for metric in metrics:
        about = label_of(metric)
        own = [index for index, entry in enumerate(entries) if entry.metric == metric]
        spreads = {index: _spread(entries[index], about, arguments.band) for index in own}
        axes = Axes(positions.title, about.axis, _domain(spreads.values(), about), kind, positions.categories)
        starts[metric] = axes.y_domain[0], about
        for level in levels:
            rows = [
                _row(entries[index], labels[index], positions.values[index], spreads[index])
                for index in own
                if in_panel(dimensions, entries[index], panels, level)
            ]
            chart = panel(_distinct(rows), axes, size, shared)
            heading = theme.panel_title(printable(level or ""), about.text if len(metrics) > 1 else None)
            drawn.append(chart.properties(title=heading))
    chart = alt.concat(*drawn, columns=columns, spacing=14).resolve_scale(color="shared", shape="shared", strokeDash="shared")
    notes = [
        note
        for start, about in starts.values()
        for note in captions.axis_note(start, about.factor != 1, "vertical" if len(metrics) == 1 else f"`{about.text}`")
    ]
    return theme.titled(
        chart, shared.tables, arguments.title, [*captions.about(comparison, entries, arguments.band), " ".join(notes)], arguments.width
    )


def _labels(entries: Sequence[Measured], positions: Positions, found: Sequence[str]) -> list[str]:
    """Return printable labels. A baseline that nothing else tells apart has the name of its recipe."""
    lines = zip(named(found, entries, by_cell=False), found, entries, positions.values, strict=True)
    return [printable(recipe_of(entry) if position is None and not own else name) for name, own, entry, position in lines]


def _kind(positions: Positions, axis: AxisScale) -> Any:
    numbers = [value for value in positions.values if isinstance(value, (int, float))]
    if positions.categories:
        return "category"
    if axis == "log" and min(numbers, default=1) <= 0:
        raise UsageError(f"axis: {positions.title} has the value {min(numbers):g}, and a logarithmic axis shows positive values only")
    return "log" if axis == "log" or (axis == "auto" and is_geometric(numbers)) else "linear"


def _spread(entry: Measured, about: MetricLabel, band: Band) -> Spread:
    return spread([value * about.factor for value in entry.values], band, about.bounds)


def _domain(spreads: Any, about: MetricLabel) -> tuple[float, float]:
    lows = [found.mean if found.low is None else found.low for found in spreads]
    highs = [found.mean if found.high is None else found.high for found in spreads]
    return domain(lows, highs, about.bounds)


def _row(entry: Measured, label: str, x: float | str | None, found: Spread) -> Row:
    of = f"{printable(entry.cell.label)}, {printable(entry.task)}, {counted(found.seeds, 'seed')}"
    return Row(label, printable(x) if isinstance(x, str) else x, found.mean, found.low, found.high, of)


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """Return rows without those that repeat another one's values in the same place: cells that cannot differ."""
    seen: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        seen.setdefault((row.series, row.x, row.mean, row.low, row.high), row)
    return list(seen.values())
