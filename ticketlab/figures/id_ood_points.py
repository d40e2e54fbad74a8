"""A metric on the task's own data against one on a challenge set: a point per cell."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import printable
from ticketlab.figures import captions, theme
from ticketlab.figures.factors import Dimensions, color_factors, facet_factor, in_panel, named, ordered, panel_levels, series_labels
from ticketlab.figures.lines import Shared, legend_of
from ticketlab.figures.measured import Measured, check_finished, measured
from ticketlab.figures.metric_labels import label_of
from ticketlab.figures.positions import as_number
from ticketlab.figures.run_factors import with_factors
from ticketlab.figures.scatter import Point, scatter
from ticketlab.figures.spread import Band, spread
from ticketlab.report.cells import Comparison
from ticketlab.report.numbers import all_numbers

DIAGONAL = "Dotted: equal on both axes."


def id_ood(
    comparison: Comparison,
    *,
    x: str = "clean.accuracy",
    y: str | Sequence[str] = "",
    color: str | Sequence[str] | None = None,
    line: str | None = None,
    facet: str | None = None,
    band: Band = "deviation",
    title: str = "",
    width: int = 640,
) -> alt.TopLevelMixin:
    """Return a chart of a metric on the task (``x``) against one on a challenge set (``y``), with the spread over seeds of both.

    ``y`` is by default the accuracy on every challenge set, each in its own panel. ``line`` is a numeric factor, such as the sparsity:
    the points of one colour are joined in its order. The dotted diagonal is where both are equal.

    :raises UsageError: a metric or factor does not exist, or no cell was evaluated on a challenge set.
    """
    comparison = with_factors(comparison, color, line, facet)
    check_finished(comparison)
    sets = dict.fromkeys(f"ood.{number.set}.accuracy" for number in all_numbers(comparison) if number.set)
    metrics = [y] if isinstance(y, str) and y else list(y) or list(sets)
    if not metrics:
        raise UsageError("y: no finished cell was evaluated on a challenge set (`ticketlab run --ood`)")
    across = {_model(entry): entry for entry in measured(comparison, [x], argument="x")}
    entries = [entry for entry in measured(comparison, metrics, argument="y") if _model(entry) in across]
    across = {model: across[model] for model in map(_model, entries)}
    if not entries:
        raise UsageError(f"y: no model has both `{x}` and `{metrics[0]}`")
    dimensions = Dimensions.of(comparison, entries)
    colors = color_factors(dimensions, color)
    along = dimensions.find(line, "line") if line else None
    panels = facet_factor(dimensions, facet, entries, colors)
    placed = [factor for factor in (along, panels) if factor is not None]
    labels = [printable(label) for label in named(series_labels(dimensions, entries, colors, placed), entries, by_cell=True)]
    series = ordered(labels, entries, dimensions, colors)
    levels = panel_levels(dimensions, entries, panels)
    columns, size = theme.panel_columns(width, len(metrics) * len(levels), len(levels))
    shared, drawn, notes = Shared(series, (), legend_of(series, width, colors)), [], []
    about_x = label_of(x)
    for name in metrics:
        about = label_of(name)
        for level in levels:
            points = []
            for entry, label in zip(entries, labels, strict=True):
                if entry.metric != name or not in_panel(dimensions, entry, panels, level):
                    continue
                own = across[_model(entry)]
                order = as_number(dimensions.level(entry, along) or "") if along else None
                points.append(
                    Point(
                        label,
                        f"{printable(entry.cell.label)}, {entry.task}",
                        spread([value * about_x.factor for value in own.values], band, about_x.bounds),
                        spread([value * about.factor for value in entry.values], band, about.bounds),
                        order,
                    )
                )
            if not points:
                continue
            chart, x_span, y_span = scatter(points, about_x, about, (size, min(size, 300)), shared, lines=along is not None, diagonal=True)
            notes += [DIAGONAL] if max(x_span[0], y_span[0]) < min(x_span[1], y_span[1]) else []
            notes += captions.axis_note(x_span[0], about_x.factor != 1, "horizontal") + captions.axis_note(y_span[0], about.factor != 1)
            drawn.append(chart.properties(title=theme.panel_title(printable(level or ""), about.text if len(metrics) > 1 else None)))
    chart = alt.concat(*drawn, columns=columns, spacing=14).resolve_scale(color="shared", shape="shared")
    lines = [*captions.about(comparison, [*entries, *across.values()], band), " ".join(dict.fromkeys(notes) if len(drawn) == 1 else [])]
    names = ", ".join(label_of(name).text for name in metrics)
    return theme.titled(chart, shared.tables, title or f"{names} against {about_x.within}", lines, width)


def _model(entry: Measured) -> tuple[str, str, str]:
    return entry.cell.label, entry.task, entry.of
