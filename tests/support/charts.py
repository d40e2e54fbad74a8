"""What a chart's specification has: its data and its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def data(chart: Any, *keys: str) -> list[dict[str, Any]]:
    """Return the distinct rows of all data of a chart that have these keys."""
    found = []
    for row in _rows(_spec(chart)):
        if all(key in row for key in keys) and row not in found:
            found.append(row)
    return found


def panels(chart: Any) -> dict[str, Any]:
    """Return the specifications of the panels of a chart by their titles, each with the data of the chart."""
    spec = _spec(chart)
    return {panel["title"]["text"]: panel | {"datasets": spec["datasets"]} for panel in spec.get("concat", spec.get("vconcat"))}


def rows_of(panel: Any, mark: str) -> list[dict[str, Any]]:
    """Return the data of the layer of a panel with this mark."""
    layer = next(layer for layer in panel["layer"] if isinstance(layer.get("mark"), dict) and layer["mark"]["type"] == mark)
    found: list[dict[str, Any]] = panel["datasets"][layer["data"]["name"]]
    return found


def title(chart: Any) -> str:
    """Return the title of a chart."""
    return " ".join(_spec(chart)["title"]["text"])


def subtitle(chart: Any) -> str:
    """Return the subtitle of a chart as one text."""
    return " ".join(_spec(chart)["title"]["subtitle"]).replace("\N{NO-BREAK SPACE}", " ")


def values_of(chart: Any, key: str) -> list[Any]:
    """Return every value that the specification has under a key, wherever it is, without repetitions."""
    found: list[Any] = []
    for value in _under(_spec(chart), key):
        if value not in found:
            found.append(value)
    return found


def _spec(chart: Any) -> Any:
    """Return a specification. That it is valid is tested elsewhere, once for each kind of picture."""
    return chart.to_dict(validate=False)


def _rows(spec: Any) -> Iterator[dict[str, Any]]:
    for tables in _under(spec, "datasets"):
        for rows in tables.values():
            yield from rows


def _under(spec: Any, key: str) -> Iterator[Any]:
    if isinstance(spec, dict):
        if key in spec:
            yield spec[key]
        for value in spec.values():
            yield from _under(value, key)
    elif isinstance(spec, list):
        for value in spec:
            yield from _under(value, key)
