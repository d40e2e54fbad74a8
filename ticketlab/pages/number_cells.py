"""The cells of numbers in the tables of a page."""

from __future__ import annotations

from attrs import evolve

from ticketlab.core.formatting import counted
from ticketlab.pages.data_table import PageCell
from ticketlab.report.metric_text import MetricText
from ticketlab.report.summaries import Summary
from ticketlab.report.table_notes import SIGNIFICANT
from ticketlab.report.verdict_table import p_text
from ticketlab.statistics.seeds import SeedStatistics

KEY_DIGITS = 12
"""The digits of a stage's key that are shown: enough to find its folder."""
Interval = tuple[float, float] | None


def summary_cell(summary: Summary, text: MetricText, *, best: bool = False) -> PageCell:
    """Return the cell of a summary, with its seeds, examples and keys as the title.

    The interval is Student's over the seeds, or of one seed that over its examples.
    """
    statistics = summary.statistics
    interval = statistics.interval if statistics.seeds > 1 else summary.number.interval
    cell = statistics_cell(statistics, text)
    return evolve(cell, below=interval_text(interval, text), title=_title(summary, text), best=best)


def statistics_cell(statistics: SeedStatistics | None, text: MetricText, *, signed: bool = False) -> PageCell:
    """Return the cell of a mean over seeds, with its deviation and interval. A ``signed`` number is a difference."""
    if statistics is None:
        return PageCell()
    cell = value_cell(statistics.mean, text, signed=signed, interval=statistics.interval)
    return cell if statistics.deviation is None else evolve(cell, spread=f" ± {text.number(statistics.deviation)}")


def value_cell(value: float | None, text: MetricText, *, signed: bool = False, interval: Interval = None, title: str = "") -> PageCell:
    """Return the cell of a number, or an empty one for None."""
    if value is None:
        return PageCell()
    shown = text.number(value)
    plus = "+" if signed and value > 0 and shown.strip("0.,") else ""
    return PageCell(f"{plus}{shown}", value, below=interval_text(interval, text, signed=signed), title=title)


def p_cell(p: float | None, *, mark: bool = False) -> PageCell:
    """Return the cell of a p value; ``mark`` those that are significant."""
    if p is None:
        return PageCell()
    return PageCell(p_text(p), p, best=mark and p < SIGNIFICANT)


def interval_text(interval: Interval, text: MetricText, *, signed: bool = False) -> str:
    """Return an interval in brackets, limited to what is possible; for a ``signed`` number, to possible differences."""
    if interval is None:
        return ""
    least, most = text.limits
    least, most = (least - most, most - least) if signed else (least, most)
    low, high = (min(max(bound, least), most) for bound in interval)
    return f"({text.number(low)} to {text.number(high)})"


def sizes_text(summary: Summary) -> str:
    """Return the number of examples behind each seed's value, or their range; empty for none."""
    if summary.examples is None:
        return ""
    least, most = summary.examples
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _title(summary: Summary, text: MetricText) -> str:
    """Return the values of the seeds with the keys of their stages, and the number of examples."""
    parts = [f"seed {value.seed}: {text.number(value.value)} (stage {value.key[:KEY_DIGITS]})" for value in summary.values]
    repeated = len(summary.values) - summary.statistics.seeds
    if repeated:
        parts.append(f"{counted(repeated, 'seed')} with the measurement of an earlier one, which counts once")
    if sizes := sizes_text(summary):
        parts.append(f"{sizes} examples")
    return "; ".join([summary.number.metric, *parts])
