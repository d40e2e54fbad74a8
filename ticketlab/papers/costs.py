"""What the papers' studies cost at full scale: ``costs.json``, which :mod:`ticketlab.papers.counting` writes.

The counts are stored because planning all studies takes many seconds.
"""

from __future__ import annotations

from attrs import frozen

from ticketlab.core import files
from ticketlab.papers.catalogue import FOLDER

COSTS = FOLDER / "costs.json"


@frozen
class Cost:
    """The number of cells, of distinct stages for all seeds, and of stages if the cells shared none."""

    cells: int
    stages: int
    without_sharing: int


def known_costs() -> dict[str, Cost]:
    """Return the stored counts by the name of the study."""
    return {name: Cost(**found) for name, found in files.read_json(COSTS).items()}
