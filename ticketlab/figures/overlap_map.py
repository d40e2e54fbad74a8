"""The overlap of tickets, by Jaccard index, between cells, tasks and seeds."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt

from ticketlab.core.errors import UsageError
from ticketlab.figures import captions, theme
from ticketlab.figures.cell_labels import cell_labels, full_label
from ticketlab.figures.heat_map import Map, Tile, heat_map
from ticketlab.figures.run_factors import with_factors
from ticketlab.figures.run_tickets import RunTicket, tickets_of
from ticketlab.figures.tables import Tables
from ticketlab.report.cells import Comparison
from ticketlab.tickets.comparison import PackedMasks

By = Literal["auto", "seed", "cell"]
MOST_TICKETS = 24
"""With ``by = "auto"`` more tickets than these are averaged over seeds."""
LABEL_CHARACTER, WIDEST_LABEL = 5.6, 270
"""The width of labels, in pixels."""


def overlap(
    comparison: Comparison, *, by: By = "auto", group: str = "", stage: str = "", title: str = "", width: int = 640
) -> alt.TopLevelMixin:
    """Return a heat-map of the Jaccard index of each two tickets: the units that both keep over those that either keeps.

    ``by="seed"`` shows each ticket; ``by="cell"`` the mean over all pairs of seeds of two cells and tasks, and on the diagonal that over
    the pairs of different seeds of one. ``group`` (weights, heads, neurons) is by default each that the tickets have, in its own panel.
    The subtitle has the index of two independent random tickets that keep as much. Tickets of other structures have no common tile.

    :raises UsageError: there are fewer than two tickets, or none masks the group.
    """
    comparison = with_factors(comparison)
    tickets = tickets_of(comparison, stage)
    if len(tickets) < 2:
        raise UsageError("an overlap needs two tickets, and the finished cells have one; add seeds, tasks or runs")
    labels = _labels(tickets, comparison)
    packed = [PackedMasks.of(ticket.load()) for ticket in tickets]
    groups = sorted({name for masks in packed for name in masks.groups})
    if group and group not in groups:
        raise UsageError(f"group: no ticket masks `{group}`; they mask {', '.join(groups)}")
    by_seed = by == "seed" or (by == "auto" and len(tickets) <= MOST_TICKETS)
    names = [_name(label, one.seed, alone=len(set(labels)) == 1) if by_seed else label for label, one in zip(labels, tickets, strict=True)]
    order = list(dict.fromkeys(names))
    shown = [group] if group else groups
    margin = min(WIDEST_LABEL, 0.42 * width, max(len(name) for name in order) * LABEL_CHARACTER) + 16
    columns = max(1, min(len(shown), int(width // (margin + 170)) if width > theme.SMALL else 1))
    side = min(32.0, max(5.0, (width // columns - margin - 16) / len(order)))
    panels, tables = [], Tables()
    for name in shown:
        values = _means(packed, names, name, with_itself=by_seed)
        tiles = [Tile(one, other, value, name) for (one, other), value in values.items()]
        about = Map(
            columns=order,
            rows=order,
            domain=(0.0, 100.0),
            legend="overlap (%)",
            tile=(side, max(side, 12.0)),
            slanted=True,
            label_width=int(margin),
        )
        panel = heat_map(tiles, about, tables)
        panels.append(panel.properties(title=theme.panel_title(name)))
    chart = alt.concat(*panels, columns=columns, spacing=16).resolve_scale(color="shared")
    seeds = [] if by_seed else [names.count(name) for name in order]
    lines = [
        *captions.about_runs(comparison, [ticket.cell for ticket in tickets], seeds, "a ticket"),
        "Each tile: the units kept by both over those kept by either."
        + ("" if by_seed else " The diagonal is between different seeds; empty for one seed."),
        *(_chance(packed, name) for name in shown),
    ]
    return theme.titled(chart, tables, title or "Overlap of tickets", lines, width)


def _labels(tickets: Sequence[RunTicket], comparison: Comparison) -> list[str]:
    cells = list({ticket.cell.label: ticket.cell for ticket in tickets}.values())
    known, tasks = cell_labels(comparison, cells), {ticket.task for ticket in tickets}
    return [full_label(known[ticket.cell.label], ticket.task, tasks, ticket.stage) for ticket in tickets]


def _name(label: str, seed: str, *, alone: bool) -> str:
    return f"seed {seed}" if alone else f"{label}, seed {seed}"


def _means(packed: Sequence[PackedMasks], names: Sequence[str], group: str, *, with_itself: bool) -> Mapping[tuple[str, str], float]:
    """Return the mean index in percent for each two names with comparable tickets, also of a ticket and itself if ``with_itself``."""
    found: dict[tuple[str, str], list[float]] = {}
    for (one, name), (other, other_name) in itertools.combinations_with_replacement(list(zip(packed, names, strict=True)), 2):
        if one is other and not with_itself:
            continue
        value = one.jaccard(other, group)
        if value is not None:
            for pair in {(name, other_name), (other_name, name)}:
                found.setdefault(pair, []).append(100 * value)
    return {pair: statistics.fmean(values) for pair, values in found.items()}


def _chance(packed: Sequence[PackedMasks], group: str) -> str:
    """Return a sentence about the overlap of independent random tickets that keep as many units of a group."""
    kept = sorted({round(masks.kept_share(group), 4) for masks in packed if group in masks.groups})
    low, high = (100 * share / (2 - share) for share in (kept[0], kept[-1]))
    span = f"{low:.0f} %" if round(low) == round(high) else f"{low:.0f} to {high:.0f} %"
    return f"Independent random tickets that keep as many {group} overlap by {span}."
