"""A panel of points with their spread over seeds, shared by the pictures of one metric against another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
from attrs import frozen

from ticketlab.figures.lines import Shared, scales
from ticketlab.figures.metric_labels import MetricLabel
from ticketlab.figures.positions import domain
from ticketlab.figures.spread import Spread
from ticketlab.figures.tables import Tables
from ticketlab.figures.theme import NUMBER

LABEL_HEIGHT, LABEL_CHARACTER = 13, 6.2
"""The size of labels beside points, in pixels."""
LONGEST_LABEL, MOST_LABELS = 24, 10
"""More or longer labels do not fit beside the points."""


@frozen
class Point:
    """A point with its spread in both directions, in shown values. ``order`` is its position along a line, None without one."""

    series: str
    label: str
    x: Spread
    y: Spread
    order: float | None = None


def scatter(
    points: Sequence[Point],
    x: MetricLabel,
    y: MetricLabel,
    size: tuple[int, int],
    shared: Shared,
    *,
    lines: bool = False,
    labels: bool = False,
    diagonal: bool = False,
) -> tuple[Any, tuple[float, float], tuple[float, float]]:
    """Return a panel and the domains of its axes.

    ``lines`` joins the points of a series, ``labels`` writes their labels beside them, and ``diagonal`` shows where both axes are equal.
    """
    spans = [_domain([getattr(point, axis) for point in points], about) for axis, about in (("x", x), ("y", y))]
    data = shared.tables.add([_values(point) for point in points])
    x_scale, y_scale = (alt.Scale(domain=list(span), nice=False, zero=False) for span in spans)
    across = alt.X("x:Q", scale=x_scale, title=x.axis, axis=alt.Axis(tickCount=6, format=NUMBER))
    up = alt.Y("y:Q", scale=y_scale, title=y.axis, axis=alt.Axis(tickCount=6, format=NUMBER))
    colors, shapes, _ = scales(shared.series, [])
    color = alt.Color("series:N", scale=colors, legend=shared.legend)
    hints = [
        alt.Tooltip("label:N", title="cell"),
        alt.Tooltip("x:Q", title=x.axis, format=",.4~g"),
        alt.Tooltip("y:Q", title=y.axis, format=",.4~g"),
    ]
    base = alt.Chart(data)
    layers: list[Any] = []
    if diagonal:
        start, end = max(spans[0][0], spans[1][0]), min(spans[0][1], spans[1][1])
        if start < end:
            ends = shared.tables.add([{"x": start, "y": start}, {"x": end, "y": end}])
            layers.append(alt.Chart(ends).mark_line(strokeDash=[2, 3], strokeWidth=1, color="#888888").encode(x=across, y=up))
    layers.append(
        base.mark_rule(strokeWidth=1.2, opacity=0.6, clip=True).encode(
            x=alt.X("x_low:Q", scale=x_scale, title=x.axis), x2="x_high:Q", y=up, color=color
        )
    )
    layers.append(
        base.mark_rule(strokeWidth=1.2, opacity=0.6, clip=True).encode(
            y=alt.Y("y_low:Q", scale=y_scale, title=y.axis), y2="y_high:Q", x=across, color=color
        )
    )
    if lines:
        layers.append(base.mark_line(strokeWidth=1.5, opacity=0.7).encode(x=across, y=up, color=color, order="order:Q"))
    shape = alt.Shape("series:N", scale=shapes, legend=shared.legend)
    layers.append(base.mark_point(filled=True, size=75, opacity=1).encode(x=across, y=up, color=color, shape=shape, tooltip=hints))
    if labels:
        layers += _labels(points, spans, size, (across, up), shared.tables)
    return alt.layer(*layers).properties(width=size[0], height=size[1]), spans[0], spans[1]


def _domain(spreads: Sequence[Spread], about: MetricLabel) -> tuple[float, float]:
    lows = [found.mean if found.low is None else found.low for found in spreads]
    highs = [found.mean if found.high is None else found.high for found in spreads]
    return domain(lows, highs, about.bounds)


def _values(point: Point) -> dict[str, Any]:
    ends = {
        f"{axis}_{end}": found.mean if (value := getattr(found, end)) is None else value
        for axis, found in (("x", point.x), ("y", point.y))
        for end in ("low", "high")
    }
    return {"series": point.series, "label": point.label, "x": point.x.mean, "y": point.y.mean, "order": point.order, **ends}


def _labels(
    points: Sequence[Point], spans: Sequence[tuple[float, float]], size: tuple[int, int], axes: tuple[alt.X, alt.Y], tables: Tables
) -> list[Any]:
    """Return texts beside the points: to the left of those in the right half, moved down or up until none covers another."""
    places = [(_pixel(point.x.mean, spans[0], size[0]), size[1] - _pixel(point.y.mean, spans[1], size[1])) for point in points]
    taken = [(across - 6, down, across + 6, down + LABEL_HEIGHT) for across, down in places]
    texts = []
    for point in sorted(points, key=lambda point: -point.y.mean):
        across, down = _pixel(point.x.mean, spans[0], size[0]), size[1] - _pixel(point.y.mean, spans[1], size[1])
        length = len(point.label) * LABEL_CHARACTER
        is_left = across + 10 + length > size[0]
        left = across - 10 - length if is_left else across + 10
        shift = next(
            (
                shift
                for step in range(12)
                for shift in (step * LABEL_HEIGHT, -step * LABEL_HEIGHT)
                if not any(_overlap((left, down + shift, left + length, down + shift + LABEL_HEIGHT), box) for box in taken)
            ),
            0,
        )
        taken.append((left, down + shift, left + length, down + shift + LABEL_HEIGHT))
        values = [{"x": point.x.mean, "y": point.y.mean, "text": point.label}]
        mark = alt.Chart(tables.add(values)).mark_text(align="right" if is_left else "left", dx=-9 if is_left else 9, dy=shift)
        texts.append(mark.encode(x=axes[0], y=axes[1], text="text:N"))
    return texts


def _pixel(value: float, span: tuple[float, float], length: int) -> float:
    return (value - span[0]) / (span[1] - span[0]) * length


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
