"""A heat-map of numbers in percent, with the number in each tile where it fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
from attrs import frozen

from ticketlab.figures.factors import SEPARATOR
from ticketlab.figures.tables import Tables
from ticketlab.figures.theme import SCHEME

SMALLEST_WITH_NUMBER = 24
"""The width of a tile, in pixels, from which it shows its number."""


@frozen
class Tile:
    """A tile of a heat-map. ``value`` is in percent; None leaves the tile empty. ``note`` is shown under the mouse."""

    column: str
    row: str
    value: float | None
    note: str = ""
    panel: str = ""


@frozen(kw_only=True)
class Map:
    """What the panels of a heat-map share: the names of columns and rows, the values at both ends of the colours, titles, a tile's size.

    ``legend`` is the title of the colours. ``slanted`` turns the names of columns, which are then long. ``label_width`` is the greatest
    width of names.
    """

    columns: Sequence[str]
    rows: Sequence[str]
    domain: tuple[float, float]
    legend: str
    tile: tuple[float, float]
    x_title: str | None = None
    y_title: str | None = None
    slanted: bool = False
    label_width: int = 150


def heat_map(tiles: Sequence[Tile], about: Map, tables: Tables) -> Any:
    """Return a heat-map of one panel."""
    return _layers(about).properties(data=tables.add(_rows(tiles)))


def heat_maps(tiles: Sequence[Tile], about: Map, panels: Sequence[str], columns: int, tables: Tables) -> Any:
    """Return a heat-map for each of the ``panels``, so many in a row. One chart of many panels is drawn faster than many charts."""
    limit = int(about.tile[0] * len(about.columns))
    header = alt.Header(title=None, labelFontSize=12, labelLimit=limit, labelExpr=f"split(datum.label, {SEPARATOR!r})")
    facet = alt.Facet("panel:N", sort=list(panels), header=header)
    chart = _layers(about).facet(facet=facet, columns=columns, data=tables.add(_rows(tiles)), spacing=16)
    return chart.resolve_axis(x="independent", y="independent")


def _rows(tiles: Sequence[Tile]) -> list[dict[str, Any]]:
    filled = [one for one in tiles if one.value is not None]
    return [
        {"column": one.column, "row": one.row, "value": one.value, "note": one.note, "panel": one.panel, "text": f"{one.value:.0f}"}
        for one in filled
    ]


def _layers(about: Map) -> Any:
    size = {"width": round(about.tile[0] * len(about.columns)), "height": round(about.tile[1] * len(about.rows))}
    look: dict[str, Any] = {"labelAngle": -45, "labelAlign": "right", "labelOverlap": False} if about.slanted else {"labelAngle": 0}
    x_axis = alt.Axis(ticks=False, domain=False, labelLimit=about.label_width, **{"labelOverlap": True, **look})
    y_axis = alt.Axis(ticks=False, domain=False, labelOverlap=True, labelLimit=about.label_width)
    columns, rows = list(about.columns), list(about.rows)
    x = alt.X("column:N", sort=columns, title=about.x_title, axis=x_axis, scale=alt.Scale(domain=columns, padding=0))
    y = alt.Y("row:N", sort=rows, title=about.y_title, axis=y_axis, scale=alt.Scale(domain=rows, padding=0))
    scale = alt.Scale(domain=list(about.domain), scheme=SCHEME, clamp=True)
    bar = alt.Legend(orient="bottom", title=about.legend, gradientLength=200, gradientThickness=10, titleLimit=0)
    hints = [
        alt.Tooltip("row:N", title=about.y_title or "row"),
        alt.Tooltip("column:N", title=about.x_title or "column"),
        alt.Tooltip("value:Q", title=about.legend, format=".1f"),
        alt.Tooltip("note:N", title="of"),
    ]
    base = alt.Chart().encode(x=x, y=y)
    layers: list[Any] = [base.mark_rect().encode(color=alt.Color("value:Q", scale=scale, legend=bar), tooltip=hints)]
    if about.tile[0] >= SMALLEST_WITH_NUMBER and about.tile[1] >= 14:
        ink = alt.condition(f"datum.value > {sum(about.domain) / 2}", alt.value("#111111"), alt.value("#ffffff"))
        layers.append(base.mark_text(fontSize=9.5).encode(text="text:N", color=ink))
    return alt.layer(*layers).properties(**size)
