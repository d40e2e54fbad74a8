"""The packages in plugins/."""

from __future__ import annotations

from pathlib import Path

INFOBERT = Path(__file__).parents[2] / "plugins" / "ticketlab-infobert" / "src" / "ticketlab_infobert"
"""The folder of the module that `--plugin` takes."""
