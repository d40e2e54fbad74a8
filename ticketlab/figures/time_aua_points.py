"""Training time against Aua: a labelled point per cell."""

from __future__ import annotations

import altair as alt
from attrs import evolve

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import printable
from ticketlab.figures import captions, theme
from ticketlab.figures.factors import Dimensions, color_factors, facet_factor, in_panel, named, ordered, panel_levels, series_labels
from ticketlab.figures.lines import Shared, legend_of
from ticketlab.figures.measured import Measured, check_finished, measured
from ticketlab.figures.metric_labels import MetricLabel, label_of
from ticketlab.figures.run_factors import with_factors
from ticketlab.figures.scatter import LONGEST_LABEL, MOST_LABELS, Point, scatter
from ticketlab.figures.spread import Band, spread
from ticketlab.report.cells import Comparison
from ticketlab.report.numbers import all_numbers

PARTS = ("cost.search_seconds", "cost.training_seconds")
WHOLE = "cost.seconds"
MINUTE, HOUR = 60, 3600


def time_aua(
    comparison: Comparison,
    *,
    y: str = "",
    color: str | None = None,
    facet: str | None = None,
    band: Band = "deviation",
    title: str = "",
    width: int = 640,
) -> alt.TopLevelMixin:
    """Return a chart of the time of training, the search included, against ``y``, by default the Aua under the first attack.

    Times are those of optimizer steps, as the papers report them. Models whose time is unknown, such as checkpoints, are left out, and
    the subtitle says so.

    :raises UsageError: no cell was attacked or timed, or a metric or factor does not exist.
    """
    comparison = with_factors(comparison, color, facet)
    check_finished(comparison)
    known = list(dict.fromkeys(number.metric for number in all_numbers(comparison)))
    name = y or next((metric for metric in known if metric.startswith("attack.") and metric.endswith(".aua")), "")
    if not name:
        raise UsageError("y: no finished cell was attacked (`ticketlab run --attack`)")
    timed = _times(comparison, known)
    every = measured(comparison, [name], argument="y")
    entries = [entry for entry in every if _model(entry) in timed]
    if not entries:
        raise UsageError("no finished cell with this metric has a training time")
    dimensions = Dimensions.of(comparison, entries)
    colors = color_factors(dimensions, color)
    panels = facet_factor(dimensions, facet, entries, colors)
    labels = [
        printable(label) for label in named(series_labels(dimensions, entries, colors, [panels] if panels else []), entries, by_cell=True)
    ]
    series = ordered(labels, entries, dimensions, colors)
    unit, seconds = _unit([max(timed[_model(entry)].values) for entry in entries])
    about_x, about_y = MetricLabel("Training time, search included", bounds=(0, float("inf")), unit=unit), label_of(name)
    levels = panel_levels(dimensions, entries, panels)
    columns, size = theme.panel_columns(width, len(levels))
    fits = len(entries) <= MOST_LABELS * len(levels) and all(len(label) <= LONGEST_LABEL for label in labels)
    shared, drawn, notes = Shared(series, (), None if fits else legend_of(series, width, colors)), [], []
    for level in levels:
        points = [
            Point(
                label,
                label,
                spread([value / seconds for value in timed[_model(entry)].values], band, (0, float("inf"))),
                spread([value * about_y.factor for value in entry.values], band, about_y.bounds),
            )
            for entry, label in zip(entries, labels, strict=True)
            if in_panel(dimensions, entry, panels, level)
        ]
        chart, _, y_span = scatter(points, about_x, about_y, (size, min(300, max(200, int(size * 0.7)))), shared, labels=fits)
        notes += captions.axis_note(y_span[0], about_y.factor != 1)
        drawn.append(chart.properties(title=theme.panel_title(printable(level or ""))))
    chart = alt.concat(*drawn, columns=columns, spacing=14).resolve_scale(color="shared", shape="shared")
    left_out = len(every) - len(entries)
    if left_out:
        notes.append(f"{left_out} of {len(every)} models have no known training time and are left out.")
    lines = [*captions.about(comparison, entries, band), " ".join(dict.fromkeys(notes))]
    return theme.titled(chart, shared.tables, title or f"{about_y.text} against training time", lines, width)


def _times(comparison: Comparison, known: list[str]) -> dict[tuple[str, str, str], Measured]:
    """Return the time of each model, its search included: the sum of both parts for each seed.

    A model without a search has only one part. If only a checkpoint of a stage was used, its time and the whole time are unknown.
    """
    if WHOLE not in known:
        return {}
    whole = {_model(entry) for entry in measured(comparison, [WHOLE], argument="x")}
    found: dict[tuple[str, str, str], Measured] = {}
    for entry in measured(comparison, [part for part in PARTS if part in known], argument="x"):
        if _model(entry) not in whole:
            continue
        earlier = found.get(_model(entry))
        if earlier is None:
            found[_model(entry)] = entry
        else:
            own = dict(zip(entry.seeds, entry.values, strict=True))
            sums = [(seed, value + own[seed]) for seed, value in zip(earlier.seeds, earlier.values, strict=True) if seed in own]
            found[_model(entry)] = evolve(earlier, seeds=tuple(seed for seed, _ in sums), values=tuple(value for _, value in sums))
    return found


def _unit(seconds: list[float]) -> tuple[str, int]:
    """Return the unit of an axis up to these times, and its seconds."""
    longest = max(seconds)
    return ("hours", HOUR) if longest > 3 * HOUR else ("minutes", MINUTE) if longest > 5 * MINUTE else ("s", 1)


def _model(entry: Measured) -> tuple[str, str, str]:
    return entry.cell.label, entry.task, entry.of
