"""Settings of Sphinx. Build with ``python -m sphinx docs docs/_build``; the pages are plain Markdown, nothing is imported but the version."""

from __future__ import annotations

import ticketlab

project = "ticketlab"
author = "the ticketlab authors"
version = release = ticketlab.__version__
extensions = ["myst_parser"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "generate.py"]
html_theme = "furo"
html_title = f"ticketlab {version}"
