"""The distance of the masks between all looks of a search (EarlyRobust, Figure 2; early-bird tickets)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
from attrs import frozen

from ticketlab.core.errors import UsageError
from ticketlab.figures import captions, theme
from ticketlab.figures.cell_labels import cell_labels, full_label
from ticketlab.figures.heat_map import Map, Tile, heat_map
from ticketlab.figures.measured import check_finished
from ticketlab.figures.run_factors import with_factors
from ticketlab.figures.tables import Tables
from ticketlab.lab import mirror
from ticketlab.lab.layout import MASKS, lab_of_run, stage_folder
from ticketlab.lab.results import stage_results
from ticketlab.report.cells import Cell, Comparison
from ticketlab.tickets.snapshots import load_masks, pairwise_distances

MARGIN = 60


def mask_distance(comparison: Comparison, *, stage: str = "", group: str = "", title: str = "", width: int = 640) -> alt.TopLevelMixin:
    """Return heat-maps of the distance between the masks of any two looks of a search, one panel per cell, task and group of units.

    The distance is the fraction of units that only one of the two masks keeps, the mean over the seeds that have both looks. Searches
    keep their masks with ``keep_masks = "looks"``. ``stage`` names the search if a run has several, ``group`` one group of units.

    :raises UsageError: no finished cell has a search that kept its masks, or the group does not exist.
    """
    comparison = with_factors(comparison)
    check_finished(comparison)
    searches = _searches(comparison, stage)
    if not searches:
        raise UsageError("no finished cell has a search that kept its masks; run it again with --set search.keep_masks=looks")
    found = _of_searches(searches, comparison)
    if all(len(own.steps) < 2 for searches_of in found.values() for own in searches_of):
        raise UsageError("the searches kept the masks of one look each, and a distance is between two; evaluate or observe more often")
    groups = sorted({name for _, name in found})
    if group and group not in groups:
        raise UsageError(f"group: no search kept masks of `{group}`; they are of {', '.join(groups)}")
    shown = {key: own for key, own in found.items() if group in ("", key[1])}
    columns, side = theme.panel_columns(width, len(shown), len({name for _, name in shown}), MARGIN)
    side = min(320, side)
    means = {key: _means(own) for key, own in shown.items()}
    top = max((value for tiles in means.values() for value in tiles.values()), default=1.0)
    several = len({label for label, _ in shown}) > 1
    tables = Tables()
    panels = [
        _panel(tiles, top, side, tables).properties(title=theme.panel_title(label if several else None, name))
        for (label, name), tiles in means.items()
    ]
    chart = alt.concat(*panels, columns=columns, spacing=16).resolve_scale(color="shared")
    lines = captions.about_runs(comparison, [search.cell for search in searches], [len(own) for own in shown.values()], "kept masks")
    return theme.titled(chart, tables, title or "Mask distance between the looks of a search", lines, width)


@frozen
class _Distances:
    """The distances of one search: a square matrix over ``steps``."""

    steps: tuple[int, ...]
    matrix: Sequence[Sequence[float]]


@frozen
class _Search:
    cell: Cell
    task: str
    key: str
    masks: Path


def _searches(comparison: Comparison, stage: str) -> list[_Search]:
    """Return the searches that kept their masks. One that several cells or seeds share is that of the first."""
    found: dict[str, _Search] = {}
    for cell, results in comparison.finished:
        for search in stage_results(results):
            if search.kind != "search" or stage not in ("", search.name) or search.key in found:
                continue
            path = stage_folder(lab_of_run(cell.folder), search.key) / MASKS
            mirror.fetch(path)
            if path.is_file():
                found[search.key] = _Search(cell, search.task, search.key, path)
    return list(found.values())


def _of_searches(searches: Sequence[_Search], comparison: Comparison) -> dict[tuple[str, str], list[_Distances]]:
    """Return the distances of each seed by the label of the cell and the group of units."""
    labels = cell_labels(comparison, list({search.cell.label: search.cell for search in searches}.values()))
    tasks = {search.task for search in searches}
    found: dict[tuple[str, str], list[_Distances]] = {}
    for search in searches:
        masks = load_masks(search.masks)
        for group, matrix in pairwise_distances(masks).items():
            label = full_label(labels[search.cell.label], search.task, tasks)
            found.setdefault((label, group), []).append(_Distances(tuple(masks), matrix.tolist()))
    return found


def _means(searches: Sequence[_Distances]) -> dict[tuple[int, int], float]:
    """Return the mean distance in percent between any two steps."""
    values: dict[tuple[int, int], list[float]] = {}
    for search in searches:
        for row, one in enumerate(search.steps):
            for column, other in enumerate(search.steps):
                values.setdefault((one, other), []).append(search.matrix[row][column])
    return {pair: 100 * statistics.fmean(own) for pair, own in values.items()}


def _panel(distances: Mapping[tuple[int, int], float], top: float, side: float, tables: Tables) -> Any:
    steps = [str(step) for step in sorted({step for step, _ in distances})]
    size = min(34.0, side / len(steps))
    tiles = [Tile(str(one), str(other), value) for (one, other), value in distances.items()]
    about = Map(
        columns=steps,
        rows=steps[::-1],
        domain=(0.0, top or 1.0),
        legend="differing units (%)",
        tile=(size, size),
        x_title="step",
        y_title="step",
    )
    return heat_map(tiles, about, tables)
