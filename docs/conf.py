"""Settings of Sphinx. ``python -m sphinx docs build/docs`` builds the pages; they are plain Markdown."""

from __future__ import annotations

import ticketlab

project = "ticketlab"
author = "the ticketlab authors"
version = release = ticketlab.__version__
extensions = ["myst_parser"]
myst_heading_anchors = 3
exclude_patterns = ["generate.py"]
html_theme = "furo"
html_title = f"ticketlab {version}"
