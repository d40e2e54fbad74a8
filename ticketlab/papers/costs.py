"""What the papers' studies cost at full scale: ``costs.json``, which :mod:`ticketlab.papers.counting` writes.

The counts are stored because planning all studies takes many seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from ticketlab.core import files
from ticketlab.papers.catalogue import FOLDER, PaperStudy

COSTS = FOLDER / "costs.json"


@frozen
class Cost:
    """The number of cells, of distinct stages for all seeds, and of stages if the cells shared none.

    ``with_plugins`` are the numbers with all plugins that levels of the study need, if any does; the others are those without.
    """

    cells: int
    stages: int
    without_sharing: int
    with_plugins: Cost | None = None


def known_costs() -> dict[str, Cost]:
    """Return the stored counts by the name of the study."""
    return {name: _cost(found) for name, found in files.read_json(COSTS).items()}


def cost_here(study: PaperStudy) -> Cost:
    """Return what a study costs with the plugins that are loaded: without any that its levels need unless all are."""
    known = known_costs()[study.name]
    return known.with_plugins if known.with_plugins is not None and not study.unavailable else known


def _cost(found: Mapping[str, Any]) -> Cost:
    more = found.get("with_plugins")
    return Cost(**{**found, "with_plugins": _cost(more) if more else None})
