"""The pictures of a page: those of the study, or where none are named those that suit the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from ticketlab.core.errors import TicketlabError
from ticketlab.report.cells import Comparison
from ticketlab.report.metric_text import split_metric
from ticketlab.report.numbers import all_numbers

FEW = 3
"""The minimum number of levels of a numeric factor for a picture of a metric against it."""

WIDTH = 540
"""The width of a picture in pixels, unless the study names another: two fit next to each other."""


@frozen
class Picture:
    """A picture: ``svg`` is an ``<svg>`` element as :func:`ticketlab.figures.svg` returns it, which the page includes as it is.

    Without one, ``note`` says why it could not be drawn.
    """

    title: str
    svg: str = ""
    note: str = ""


def draw_pictures(comparison: Comparison) -> list[Picture]:
    """Draw the figures of the comparison's study, or the default ones. One that cannot be drawn is a note that says why."""
    return [_draw(comparison, wanted) for wanted in comparison.figures or default_figures(comparison)]


def default_figures(comparison: Comparison) -> Iterator[Mapping[str, Any]]:
    """Yield the figures of a comparison that names none, as a study file describes them.

    They are the accuracy and that under the first attack against each numeric factor, the accuracy on challenge sets against that on the
    task, and the training time against the accuracy under the first attack.
    """
    measured = {number.metric for number in all_numbers(comparison) if number.step is None and not number.subset}
    parts = {metric: split_metric(metric) for metric in sorted(measured)}
    accuracies = [metric for metric, (split, kind, _, measure) in parts.items() if (split, kind, measure) == ("", "clean", "accuracy")]
    aua = [metric for metric, (split, kind, _, measure) in parts.items() if (split, kind, measure) == ("", "attack", "aua")]
    ood = [metric for metric, (split, kind, _, measure) in parts.items() if (split, kind, measure) == ("", "ood", "accuracy")]
    for factor in comparison.factors:
        if len(factor.levels) >= FEW and all(map(_is_number, factor.levels)) and accuracies:
            yield {"kind": "metric", "x": factor.name, "y": [*accuracies, *aua[:1]]}
    if ood and len(comparison.finished) > 1:
        yield {"kind": "id-ood"}
    if aua and "cost.training_seconds" in measured and len(comparison.finished) > 1:
        yield {"kind": "time-aua"}


def _draw(comparison: Comparison, wanted: Mapping[str, Any]) -> Picture:
    from ticketlab import figures

    arguments = {"width": WIDTH, **wanted}
    kind = str(arguments.pop("kind", ""))
    title = str(arguments.get("title") or kind)
    try:
        chart = figures.draw(kind, comparison, **arguments)
        return Picture(title, figures.svg(chart))
    except TicketlabError as problem:
        return Picture(title, note=f"could not be drawn: {problem}")


def _is_number(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True
