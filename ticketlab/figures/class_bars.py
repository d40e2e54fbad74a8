"""Distributions of classes in training and evaluation data and in predictions (SRNets supplement, Table 2)."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
from attrs import evolve, frozen

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import printable
from ticketlab.figures import captions, theme
from ticketlab.figures.cell_labels import cell_labels
from ticketlab.figures.lines import legend_of
from ticketlab.figures.measured import check_finished
from ticketlab.figures.run_factors import with_factors
from ticketlab.figures.tables import Tables
from ticketlab.lab.results import stage_results
from ticketlab.report.cells import Cell, Comparison

By = Literal["auto", "seed", "cell"]
SMALLEST_WITH_NUMBER = 34
"""The width of a bar, in pixels, from which it shows its percentage."""
MOST_BARS = 16
"""With ``by = "auto"`` more predictions than these are averaged over seeds."""
BAR, LINE, LABEL, CHARACTER = 20, 13, 260, 6.2
"""The height of a bar, that of each further line of its name, and the greatest width of names and of a character, in pixels."""


def classes(comparison: Comparison, *, predictions: bool = True, by: By = "auto", title: str = "", width: int = 640) -> alt.TopLevelMixin:
    """Return bars of the share of each class in the splits of each data set, and in what each cell predicts for the evaluated ones.

    ``by="seed"`` has a bar for each seed, ``by="cell"`` one for the mean over seeds, which says how much seeds differ: two seeds that
    predict one class each look balanced in the mean. The default is each seed, unless there are many. With ``predictions=False`` only the
    data are shown.

    :raises UsageError: no finished cell has recorded class counts.
    """
    comparison = with_factors(comparison)
    check_finished(comparison)
    bars = [*_data(comparison), *(_predictions(comparison, by) if predictions else [])]
    if not bars:
        raise UsageError("no finished cell has evaluated a model or recorded the classes of its data")
    sets = list(dict.fromkeys(bar.set for bar in bars))
    labels = list(dict.fromkeys(label for bar in bars for label in bar.shares))
    beside = min(LABEL, width * 0.48, max(len(bar.name) for bar in bars) * CHARACTER + 14)
    characters = int((beside - 14) / CHARACTER)
    bars = [evolve(bar, name="\n".join(textwrap.wrap(bar.name, characters, break_on_hyphens=False))) for bar in bars]
    bar_width = max(120, int(width - beside - 30))
    tables = Tables()
    panels = [_panel([bar for bar in bars if bar.set == name], name, labels, bar_width, beside, tables) for name in sets]
    chart = alt.vconcat(*panels, spacing=14).resolve_scale(color="shared")
    seeds = [bar.seeds for bar in bars if bar.seeds]
    lines = captions.about_runs(comparison, [cell for cell, _ in comparison.finished], seeds, "class counts")
    return theme.titled(chart, tables, title or "Distribution of classes", lines, width)


@frozen
class _Bar:
    """A bar: the percentage of each class. ``seeds`` is 0 for data."""

    set: str
    name: str
    shares: Mapping[str, float]
    seeds: int = 0


def _data(comparison: Comparison) -> list[_Bar]:
    """Return the splits of each data set; of those whose counts were not recorded, the evaluated split."""
    bars: dict[tuple[str, str, tuple[Any, ...]], _Bar] = {}
    for _, results in comparison.finished:
        for name, about in results.get("data", {}).items():
            for split, counts in about.get("classes", {}).items():
                _add(bars, name, split, counts)
        for stage in stage_results(results):
            for name, found in _evaluations(stage.result, stage.task):
                split = str(found.get("split", "test"))
                if "labels" in found and not results.get("data", {}).get(name, {}).get("classes", {}).get(split):
                    _add(bars, name, split, found["labels"])
    return list(bars.values())


def _add(bars: dict[tuple[str, str, tuple[Any, ...]], _Bar], name: str, split: str, counts: Mapping[str, int]) -> None:
    total = sum(counts.values())
    identity = name, split, tuple(sorted(counts.items()))
    if total and identity not in bars:  # subsets of training rows differ between scales
        bars[identity] = _Bar(printable(name), f"{split} ({total:,})", _shares(counts))


def _predictions(comparison: Comparison, by: By) -> list[_Bar]:
    cells = [cell for cell, _ in comparison.finished if not (cell.same_as and cell.inapplicable)]
    labels = cell_labels(comparison, cells)
    of_seeds = [bar for cell in cells for bar in _of_cell(cell, labels[cell.label], by_seed=True)]
    if by == "seed" or (by == "auto" and len(of_seeds) <= MOST_BARS):
        return of_seeds
    return [bar for cell in cells for bar in _of_cell(cell, labels[cell.label], by_seed=False)]


def _of_cell(cell: Cell, label: str, *, by_seed: bool) -> list[_Bar]:
    """Return the predictions of a cell: a bar for each distinct seed, or one for all."""
    found: dict[tuple[str, str, str], dict[str, tuple[str, Mapping[str, int]]]] = {}
    for stage in stage_results(cell.results or {"tasks": {}}):
        for name, scores in _evaluations(stage.result, stage.task):
            if sum(scores.get("predicted", {}).values()):
                identity = name, str(scores.get("split", "test")), stage.name
                found.setdefault(identity, {}).setdefault(stage.key, (stage.seed, scores["predicted"]))
    several = len({stage_name for _, _, stage_name in found}) > 1
    bars = []
    for (name, split, stage_name), by_key in found.items():
        title = f"{split}, predicted by {label}{f' {stage_name}' if several else ''}"
        shares = [_shares(predicted) for _, predicted in by_key.values()]
        if by_seed:
            seeds = [f", seed {seed}" if len(by_key) > 1 else "" for seed, _ in by_key.values()]
            bars += [_Bar(printable(name), printable(title + seed), own) for seed, own in zip(seeds, shares, strict=True)]
            continue
        answers = list(dict.fromkeys(answer for own in shares for answer in own))
        columns = {answer: [own.get(answer, 0.0) for own in shares] for answer in answers}
        apart = max((max(values) - min(values) for values in columns.values()), default=0.0)
        note = f" (seeds differ by up to {apart:.0f} points)" if apart >= 1 else ""
        means = {answer: statistics.fmean(values) for answer, values in columns.items()}
        bars.append(_Bar(printable(name), printable(title) + note, means, len(shares)))
    return bars


def _shares(counts: Mapping[str, int]) -> dict[str, float]:
    total = sum(counts.values())
    return {printable(label): 100 * count / total for label, count in counts.items()}


def _evaluations(result: Mapping[str, Any], task: str) -> list[tuple[str, Mapping[str, Any]]]:
    return [*([(task, result["clean"])] if "clean" in result else []), *result.get("ood", {}).items()]


def _panel(bars: Sequence[_Bar], name: str, labels: Sequence[str], bar_width: int, beside: float, tables: Tables) -> Any:
    values = []
    for bar in bars:
        start = 0.0
        for label in labels:
            share = bar.shares.get(label, 0.0)
            if share:
                text = f"{share:.0f} %" if share / 100 * bar_width >= SMALLEST_WITH_NUMBER else ""
                values.append({"bar": bar.name, "class": label, "start": start, "end": start + share, "share": share, "text": text})
            start += share
    order = [bar.name for bar in bars]
    further = max(name.count("\n") for name in order)
    blank = f"slice({chr(10) * further!r}, 0, floor(({further + 1} - length(split(datum.label, '\\n'))) / 2))"  # centres the shorter names
    text = f"split({blank} + datum.label, '\\n')"
    axis = alt.Axis(labelLimit=int(beside), labelExpr=text, labelBaseline="middle", labelOffset=-LINE * further / 2, ticks=False)
    y = alt.Y("bar:N", sort=order, title=None, scale=alt.Scale(domain=order, padding=0.15), axis=axis)
    x = alt.X("start:Q", title="examples (%)", scale=alt.Scale(domain=[0, 100], nice=False), axis=alt.Axis(tickCount=5))
    hints = [alt.Tooltip("bar:N"), alt.Tooltip("class:N"), alt.Tooltip("share:Q", title="examples (%)", format=".1f")]
    color = alt.Color("class:N", scale=alt.Scale(domain=list(labels)), legend=legend_of(labels, bar_width))
    base = alt.Chart(tables.add(values))
    rects = base.mark_bar(stroke="white", strokeWidth=1).encode(x=x, x2="end:Q", y=y, color=color, tooltip=hints)
    middle = base.transform_calculate(middle="(datum.start + datum.end) / 2").mark_text(color="white", fontSize=10.5, fontWeight="bold")
    texts = middle.encode(x=alt.X("middle:Q", scale=alt.Scale(domain=[0, 100], nice=False), title="examples (%)"), y=y, text="text:N")
    return alt.layer(rects, texts).properties(width=bar_width, height=(BAR + LINE * further) * len(order), title=theme.panel_title(name))
