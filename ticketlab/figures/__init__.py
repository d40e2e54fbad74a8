"""Pictures of a comparison: one function each, returning an Altair chart, and functions that write or embed one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticketlab.core.lazy_exports import lazy_exports

_EXPORTS = {
    "classes": "ticketlab.figures.class_bars",
    "convergence": "ticketlab.figures.convergence_curves",
    "draw": "ticketlab.figures.kinds",
    "FIGURES": "ticketlab.figures.kinds",
    "gates": "ticketlab.figures.gate_curves",
    "id_ood": "ticketlab.figures.id_ood_points",
    "mask_distance": "ticketlab.figures.mask_distance_map",
    "metric": "ticketlab.figures.metric_lines",
    "overlap": "ticketlab.figures.overlap_map",
    "survival": "ticketlab.figures.survival_map",
    "svg": "ticketlab.figures.output",
    "time_aua": "ticketlab.figures.time_aua_points",
    "write": "ticketlab.figures.output",
}

if TYPE_CHECKING:
    from ticketlab.figures.class_bars import classes as classes
    from ticketlab.figures.convergence_curves import convergence as convergence
    from ticketlab.figures.gate_curves import gates as gates
    from ticketlab.figures.id_ood_points import id_ood as id_ood
    from ticketlab.figures.kinds import FIGURES as FIGURES
    from ticketlab.figures.kinds import draw as draw
    from ticketlab.figures.mask_distance_map import mask_distance as mask_distance
    from ticketlab.figures.metric_lines import metric as metric
    from ticketlab.figures.output import svg as svg
    from ticketlab.figures.output import write as write
    from ticketlab.figures.overlap_map import overlap as overlap
    from ticketlab.figures.survival_map import survival as survival
    from ticketlab.figures.time_aua_points import time_aua as time_aua

__all__ = sorted(_EXPORTS)
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
