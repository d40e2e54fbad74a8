"""Writes a chart as svg, pdf, png or a self-contained HTML page, and returns one as SVG to embed in a page."""

from __future__ import annotations

import functools
import hashlib
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from ticketlab.core import files
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.figures.theme import GRID, PALETTE, config

if TYPE_CHECKING:
    from altair import TopLevelMixin

FORMATS = ("svg", "pdf", "png", "html")
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
PIXELS = 2
"""Pixels of a png per pixel of the picture, so that text is sharp."""
GLOBALS = "window.vegaEmbed = vegaEmbed;"
"""What the bundle of JavaScript defines for the page."""
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; \
script-src 'unsafe-inline' 'unsafe-eval'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 1rem; background: white }} #figure {{ max-width: 100%; overflow-x: auto }}</style>
<script>{bundle}</script>
</head>
<body>
<div id="figure"></div>
<script>
const actions = {{export: true, source: false, compiled: false, editor: false}};
vegaEmbed("#figure", {spec}, {{mode: "vega-lite", renderer: "svg", actions}});
</script>
</body>
</html>
"""


def format_of(path: Path) -> str:
    """Return the format of a file by its suffix.

    :raises UsageError: it is none of :data:`FORMATS`.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        hint = did_you_mean(suffix, FORMATS) if suffix else f"; available: {', '.join(f'`.{name}`' for name in FORMATS)}"
        raise UsageError(f"{path}: the suffix of the file decides its format, and `.{suffix}` is none of them{hint}")
    return suffix


def write(chart: TopLevelMixin, path: str | Path) -> Path:
    """Write a chart to a file, atomically, in the format of its suffix: svg, pdf, png or html. Return its path.

    The HTML page is self-contained: it includes the JavaScript that draws the chart, shows values under the mouse, and loads nothing.

    :raises UsageError: the suffix is another, or the file cannot be written.
    """
    target = files.expand(path)
    content = _RENDERERS[format_of(target)](spec_of(chart))
    try:
        files.write_atomic(target, lambda written: written.write_bytes(content))
    except OSError as problem:
        raise UsageError(f"{target}: cannot be written ({problem.strerror or problem})") from None
    return target


def svg(chart: TopLevelMixin) -> str:
    """Return a chart as an ``<svg>`` element to embed in a page, readable in light and dark.

    It has no background. Text and axes have the colour of the text around it (``currentColor``), grid lines the CSS variable
    ``--figure-grid``, and series ``--figure-1`` to ``--figure-8``; each variable has a default. It shrinks to the width of its container.
    Identifiers in it are unique to the picture.
    """
    import vl_convert

    spec = spec_of(chart)
    variables = [f"var(--figure-{number}, {colour})" for number, colour in enumerate(PALETTE, 1)]
    spec["config"] = config("currentColor", "currentColor", f"var(--figure-grid, {GRID})", None)
    spec["config"]["range"]["category"] = variables
    spec["config"]["mark"] = {"color": variables[0]}
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(spec))
    _make_identifiers_unique(root, hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8])
    root.set("role", "img")
    root.set("aria-label", str(spec.get("description", "")))
    root.set("style", f"max-width: 100%; height: auto; overflow: visible; color-scheme: inherit; width: {root.get('width')}px")
    for size in ("width", "height"):
        root.attrib.pop(size)
    return ElementTree.tostring(root, encoding="unicode")


def spec_of(chart: TopLevelMixin) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart, without the address of its schema."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # validation takes longer than the drawing
    spec.pop("$schema", None)
    return spec


def _make_identifiers_unique(root: ElementTree.Element, prefix: str) -> None:
    """Put a prefix before every id and every reference to one: those of several pictures in a page must differ."""
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, f"{prefix}-{value}")
            elif value.startswith("url(#"):
                element.set(name, re.sub(r"^url\(#", f"url(#{prefix}-", value))


def _svg_file(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec)).encode()


def _pdf(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_pdf(spec))


def _png(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(spec, scale=PIXELS))


def _html(spec: dict[str, Any]) -> bytes:
    """Return the page. The specification is JSON in a script element, where ``<`` could end it; JSON has an escape for it."""
    text = json.dumps(spec).replace("<", "\\u003c")
    return PAGE.format(title=html.escape(str(spec.get("description", "figure"))), bundle=_bundle(), spec=text).encode()


@functools.cache
def _bundle() -> str:
    """Return the JavaScript that draws charts, as one script without imports."""
    import vl_convert

    return str(vl_convert.javascript_bundle(GLOBALS))


_RENDERERS: dict[str, Callable[[dict[str, Any]], bytes]] = {"svg": _svg_file, "pdf": _pdf, "png": _png, "html": _html}
