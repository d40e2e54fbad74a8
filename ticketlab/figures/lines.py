"""A panel of lines with bands over seeds, points, and dashed baselines; shared by the pictures of numbers against a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
from attrs import field, frozen

from ticketlab.core.formatting import printable
from ticketlab.figures.positions import as_number
from ticketlab.figures.tables import Tables
from ticketlab.figures.theme import DASHES, NUMBER, SHAPES, STROKE
from ticketlab.report.cells import Factor

MOST_POINTS = 25
"""Series of more positions have a point at some of them only."""


@frozen
class Row:
    """One point of a panel. ``x`` is a number, the text of a category, or None for a baseline. Shown values, such as percentages."""

    series: str
    x: float | str | None
    mean: float
    low: float | None
    high: float | None
    note: str = ""
    """What is shown with the value under the mouse: the cell, the seeds."""

    def values(self) -> dict[str, Any]:
        """Return the row as data of a chart."""
        return {"series": self.series, "x": self.x, "mean": self.mean, "low": self.low, "high": self.high, "note": self.note}


@frozen
class Axes:
    """The axes of a panel. ``x_kind`` is ``"category"`` for positions that are no numbers; ``categories`` are then in order."""

    x_title: str
    y_title: str
    y_domain: tuple[float, float]
    x_kind: Literal["linear", "log", "category"] = "linear"
    categories: tuple[str, ...] = ()


def legend_of(series: Sequence[str], width: int, factors: Sequence[Factor] = ()) -> alt.Legend | None:
    """Return a legend below the picture that is not wider than it; None for a single series.

    Its title is the name of the factors if the labels are numbers, which alone say nothing.
    """
    if len(series) < 2:
        return None
    longest = max(len(name) for name in series)
    columns = max(1, min(len(series), width // (7 * min(longest, 40) + 34)))
    numeric = all(as_number(name) is not None for name in series)
    title = printable(", ".join(factor.name for factor in factors)) if numeric and factors else None
    limit = max(100, width // columns - 34)
    return alt.Legend(title=title, orient="bottom", columns=columns, labelLimit=limit, symbolStrokeWidth=2, symbolOpacity=1)


def scales(series: Sequence[str], baselines: Sequence[str]) -> tuple[alt.Scale, alt.Scale, alt.Scale]:
    """Return the scales of colour, shape and dash. Baselines have a short line as their symbol, and dashes."""
    domain = [*series, *(name for name in baselines if name not in series)]
    shapes = [SHAPES[series.index(name) % len(SHAPES)] if name in series else STROKE for name in domain]
    dashes = [[1, 0] if name in series else list(DASHES[baselines.index(name) % len(DASHES)]) for name in domain]
    return alt.Scale(domain=domain), alt.Scale(domain=domain, range=shapes), alt.Scale(domain=domain, range=dashes)


@frozen
class Shared:
    """What the panels of a picture share: the labels of their lines and baselines, so that they agree on colours, legend and data."""

    series: Sequence[str]
    baselines: Sequence[str]
    legend: alt.Legend | None
    tables: Tables = field(factory=Tables)


def panel(rows: Sequence[Row], axes: Axes, size: tuple[int, int], shared: Shared) -> Any:
    """Return one panel of this width and height."""
    series, legend, tables = shared.series, shared.legend, shared.tables
    colors, shapes, dashes = scales(series, shared.baselines)
    color = alt.Color("series:N", scale=colors, legend=legend)
    points = [row for row in rows if row.x is not None]
    lines = [row for row in rows if row.x is None]
    y_scale = alt.Scale(domain=axes.y_domain, nice=False, zero=False)
    y = alt.Y("mean:Q", scale=y_scale, title=axes.y_title, axis=alt.Axis(tickCount=6, format=NUMBER))
    x, offset = _x(axes, points, series, size[0])
    hints = [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("x:N", title=axes.x_title),
        alt.Tooltip("mean:Q", title=axes.y_title, format=",.4~g"),
        alt.Tooltip("low:Q", title="band from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
        alt.Tooltip("note:N", title="of"),
    ]
    whole = alt.Chart(_table(tables, points))
    layers: list[Any] = []
    if _has_bands(points):
        layers.append(_bands(points, axes, (x, offset), y_scale, color, tables))
    if lines:
        dash = alt.StrokeDash("series:N", scale=dashes, legend=legend)
        encodings: dict[str, Any] = {"y": y, "color": color, "strokeDash": dash, "tooltip": [hints[0], *hints[2:]]}
        layers.append(alt.Chart(_table(tables, lines)).mark_rule(strokeWidth=2, clip=True).encode(**encodings))
    if axes.x_kind != "category":
        layers.append(whole.mark_line(clip=True).encode(x=x, y=y, color=color))
    marks = alt.Chart(_table(tables, _with_points(points))).mark_point(filled=True, size=55, opacity=1, clip=False)
    shape = alt.Shape("series:N", scale=shapes, legend=legend)
    layers.append(marks.encode(x=x, y=y, color=color, shape=shape, tooltip=hints, **offset))
    return alt.layer(*layers).properties(width=size[0], height=size[1])


def _with_points(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that have a point: all, or every so many of a long series."""
    kept: list[Row] = []
    for series in dict.fromkeys(row.series for row in rows):
        own = [row for row in rows if row.series == series]
        every = 1 if len(own) <= MOST_POINTS else -(-len(own) // 12)
        kept += own[::every]
    return kept


def _table(tables: Tables, rows: Sequence[Row]) -> alt.NamedData:
    return tables.add([row.values() for row in rows])


def _has_bands(rows: Sequence[Row]) -> bool:
    return any(row.low is not None for row in rows)


def _bands(
    rows: Sequence[Row], axes: Axes, across: tuple[alt.X, Mapping[str, Any]], y_scale: alt.Scale, color: alt.Color, tables: Tables
) -> Any:
    """Return areas for series of several positions, and error bars where no area can be seen."""
    x, offset = across
    known = [row for row in rows if row.low is not None]
    positions = {name: {row.x for row in known if row.series == name} for name in {row.series for row in known}}
    wide = [row for row in known if axes.x_kind != "category" and len(positions[row.series]) > 1]
    narrow = [row for row in known if row not in wide]
    low, high = alt.Y("low:Q", scale=y_scale, title=axes.y_title), alt.Y2("high:Q")
    areas = alt.Chart(_table(tables, wide)).mark_area(opacity=0.15, clip=True).encode(x=x, y=low, y2=high, color=color)
    bars = alt.Chart(_table(tables, narrow)).mark_rule(strokeWidth=1.5, clip=True).encode(x=x, y=low, y2=high, color=color, **offset)
    return alt.layer(*([areas] if wide else []), *([bars] if narrow else []))


def _x(axes: Axes, points: Sequence[Row], series: Sequence[str], width: int) -> tuple[alt.X, dict[str, Any]]:
    """Return the horizontal axis, and for categories the offset that keeps series apart."""
    if axes.x_kind == "category":
        fits = max(map(len, axes.categories)) * 6.5 < width / len(axes.categories)
        shown = alt.Axis(labelAngle=0 if fits else -35)
        x = alt.X("x:N", sort=list(axes.categories), title=axes.x_title, scale=alt.Scale(domain=list(axes.categories)), axis=shown)
        return x, {"xOffset": alt.XOffset("series:N", scale=alt.Scale(domain=list(series), paddingOuter=0.3))}
    numbers = sorted({row.x for row in points if isinstance(row.x, (int, float))})
    few = len(numbers) * 34 <= width
    shown = alt.Axis(values=numbers, format=NUMBER, labelOverlap=True) if few else alt.Axis(format=NUMBER, labelOverlap=True, tickCount=6)
    kind: Literal["log", "linear"] = "log" if axes.x_kind == "log" else "linear"
    low, high = (numbers[0], numbers[-1]) if numbers else (0.0, 1.0)
    if low == high:
        low, high = (low / 2, high * 2) if kind == "log" else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)
    scale = alt.Scale(type=kind, domain=[low, high], nice=False, zero=False, padding=8)
    return alt.X("x:Q", scale=scale, title=axes.x_title, axis=shown), {}
