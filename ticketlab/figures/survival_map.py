"""Survival of weights, heads and neurons per layer, over seeds (RobusT, Figure 3; EarlyRobust, Figure 5; ORTicket, Figure 1)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import altair as alt
from attrs import frozen

from ticketlab.core.formatting import counted
from ticketlab.figures import captions, theme
from ticketlab.figures.cell_labels import cell_labels, full_label
from ticketlab.figures.heat_map import Map, Tile, heat_maps
from ticketlab.figures.positions import domain
from ticketlab.figures.run_factors import with_factors
from ticketlab.figures.run_tickets import RunTicket, tickets_of
from ticketlab.figures.tables import Tables
from ticketlab.report.cells import Comparison
from ticketlab.tickets.survival import ATTENTION, FEED_FORWARD, NEURONS
from ticketlab.tickets.survival import survival as survival_of

FFN = "FFN"
NAMES = {NEURONS: FFN, ATTENTION: "attention", FEED_FORWARD: FFN}
"""The columns of parts that are no heads."""
MARGIN, LARGEST = 56, 30.0
"""Pixels beside the tiles of a panel, and the width of the largest tile."""


def survival(comparison: Comparison, *, stage: str = "", title: str = "", width: int = 640) -> alt.TopLevelMixin:
    """Return heat-maps of the kept percentage of each layer's heads and of its feed-forward network, one panel per cell and task.

    Each value is the mean over seeds. In tickets of single weights a head has its rows of the query, key and value matrices and its
    columns of the output matrix. If the number of heads is unknown, because no model of the run is in the lab, the self-attention of a
    layer is one tile, and the subtitle says so. ``stage`` names the draw stage if a run has several.

    :raises UsageError: no finished cell has a ticket.
    """
    comparison = with_factors(comparison)
    tickets = tickets_of(comparison, stage)
    labels = cell_labels(comparison, list({ticket.cell.label: ticket.cell for ticket in tickets}.values()))
    tasks = {ticket.task for ticket in tickets}
    groups: dict[str, list[RunTicket]] = {}
    for ticket in tickets:
        groups.setdefault(full_label(labels[ticket.cell.label], ticket.task, tasks, ticket.stage), []).append(ticket)
    panels = [_Panel.of(label, group) for label, group in groups.items()]
    kinds = {panel.of_weights for panel in panels}
    shares = [value for panel in panels for value in panel.shares.values()]
    ends = domain(shares, shares, (0, 100)) if kinds == {True} else (0.0, 100.0)
    names = sorted({column for panel in panels for column in panel.columns}, key=_rank)
    layers = sorted({layer for panel in panels for layer, _, _ in panel.shares})
    across = max(1, min(len(panels), 3, width // 280 if width > theme.SMALL else 1))
    tile = min(LARGEST, (width // across - MARGIN) / len(names))
    about = Map(
        columns=names,
        rows=[str(layer + 1) for layer in layers],
        domain=ends,
        legend="kept (%)" if len(kinds) > 1 else "kept weights (%)" if True in kinds else "kept heads and neurons (%)",
        tile=(tile, max(16, min(tile, 24))),
        x_title="head",
        y_title="layer",
    )
    tables = Tables()
    chart = heat_maps([tile for panel in panels for tile in panel.tiles()], about, [panel.label for panel in panels], across, tables)
    notes = ["FFN: the feed-forward network."]
    if unknown := [panel.label for panel in panels if panel.heads_unknown]:
        notes.append(f"Heads are not shown apart for {', '.join(unknown)}: no model of the run is in the lab, so their number is unknown.")
    notes += [f"The colours start at {ends[0]:g} %."] if ends[0] > 0 else []
    drawn = [ticket.cell for ticket in tickets]
    lines = [*captions.about_runs(comparison, drawn, [panel.seeds for panel in panels], "a ticket"), " ".join(notes)]
    return theme.titled(chart, tables, title or "Survival per layer", lines, width)


def _rank(column: str) -> tuple[bool, int]:
    """Return the position of a column: heads first."""
    return (False, int(column)) if column.isdigit() else (True, column == FFN)


@frozen
class _Panel:
    """The mean kept percentage of each part, by layer, part and head."""

    label: str
    shares: dict[tuple[int, str, int | None], float]
    seeds: int
    of_weights: bool

    @classmethod
    def of(cls, label: str, tickets: Sequence[RunTicket]) -> _Panel:
        found: dict[tuple[int, str, int | None], list[float]] = {}
        of_weights = False
        for one in tickets:
            ticket = one.load()
            of_weights = of_weights or "weights" in ticket.groups
            for part in survival_of(ticket, one.heads):
                found.setdefault((part.layer, part.part, part.head), []).append(part.share)
        return cls(label, {key: 100 * statistics.fmean(own) for key, own in found.items()}, len(tickets), of_weights)

    @property
    def heads_unknown(self) -> bool:
        """Whether the attention of a layer is one tile."""
        return any(part == ATTENTION for _, part, _ in self.shares)

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(tile.column for tile in self.tiles()))

    def tiles(self) -> list[Tile]:
        note = f"{self.label}, {counted(self.seeds, 'seed')}"
        return [
            Tile(str(head + 1) if head is not None else NAMES[part], str(layer + 1), value, note, self.label)
            for (layer, part, head), value in self.shares.items()
        ]
