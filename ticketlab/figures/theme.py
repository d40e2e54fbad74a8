"""The look of all pictures: colours, shapes, dashes, sizes, and how a chart gets its title."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from ticketlab.figures.tables import Tables

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#b8609a", "#a97a00", "#2b93c9", "#7a7a7a", "#8a5a44")
"""Okabe and Ito's colours for the colour-blind, the bright ones darkened until they are readable on white and on black."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
STROKE = "M-1.6,0L1.6,0"
"""The symbol of a baseline in a legend, as an SVG path: a short line."""
NUMBER = ",.6~g"
"""The format of numbers on axes: without exponents in the usual range."""
DASHES = ((6, 3), (2, 2), (8, 2, 2, 2), (10, 4), (4, 2, 1, 2))
"""Dashes of baselines. Series with a value at every position are solid."""
SCHEME: Final = "viridis"
"""The colours of heat-maps."""
INK, FAINT, GRID = "#222222", "#555555", "#dddddd"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""Fonts whose characters have equal widths, so that a page leaves the room that was measured for a text, where one is installed."""
SMALL = 480
"""Below this width a picture has one panel a row."""
CHARACTER = 5.5
"""The average width of a character of a subtitle, in pixels."""


def config(ink: str = INK, faint: str = FAINT, grid: str = GRID, background: str | None = "white") -> dict[str, Any]:
    """Return the Vega-Lite configuration of a chart's colours and text sizes."""
    return {
        "aria": False,
        "background": background,
        "font": FONT,
        "view": {"stroke": grid},
        "range": {"category": list(PALETTE), "ramp": {"scheme": SCHEME}, "heatmap": {"scheme": SCHEME}},
        "axis": {
            "labelColor": ink, "titleColor": ink, "tickColor": grid, "domainColor": faint, "gridColor": grid,
            "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 150, "titlePadding": 6,
        },
        "header": {"labelColor": ink, "titleColor": ink},
        "legend": {
            "labelColor": ink, "titleColor": ink, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "symbolSize": 90,
        },
        "title": {
            "color": ink, "subtitleColor": faint, "fontSize": 14, "subtitleFontSize": 11, "anchor": "start", "subtitlePadding": 4,
            "offset": 10, "frame": "bounds",
        },
        "text": {"color": ink, "fontSize": 11},
        "rule": {"color": faint},
        "line": {"strokeWidth": 2},
        "mark": {"color": PALETTE[0]},
    }  # fmt: skip


def panel_columns(width: int, panels: int, per_row: int = 0, margin: int = 62) -> tuple[int, int]:
    """Return the number of columns for this many panels, and the width of one without its axis of ``margin`` pixels.

    If ``per_row`` panels belong together and fit into one row, they are one.
    """
    most = min(3, width // 300) if width > SMALL else 1
    columns = max(1, min(panels, per_row if 1 < per_row <= most else most))
    return columns, max(120, width // columns - margin - 8)


def panel_title(*parts: str | None) -> alt.TitleParams:
    """Return the title of a panel: the parts that are there."""
    return alt.TitleParams(" · ".join(filter(None, parts)), fontSize=12, fontWeight="normal", anchor="middle", offset=6)


def wrapped(lines: Sequence[str], width: int) -> list[str]:
    """Return lines of text broken so that each fits into ``width`` pixels."""
    fixed = [line.replace(" %", "\u00a0%") for line in lines]  # no line begins with the percent sign
    return [part for line in fixed for part in textwrap.wrap(line, max(20, int(width / CHARACTER))) or [""]]


def titled(chart: Any, tables: Tables, title: str, lines: Sequence[str], width: int) -> alt.TopLevelMixin:
    """Return a chart with its data, its title, its subtitle, and the description that screen readers read."""
    text = wrapped([title], int(width * 0.78))  # the title's characters are larger
    heading = alt.TitleParams(text=text, subtitle=wrapped([line for line in lines if line], width))
    description = ". ".join([title, *filter(None, lines)])
    finished = chart.properties(title=heading, description=description, autosize={"type": "pad", "contains": "padding"})
    configured: alt.TopLevelMixin = finished.configure(**config())
    configured["datasets"] = tables.rows  # type: ignore[index]
    return configured
