"""Formatting of measures as the text of a table's cells."""

from __future__ import annotations

from collections.abc import Iterable

from ticketlab.report.layout import EMPTY
from ticketlab.report.statistics import Measure


def percent_with_interval(measure: Measure | None) -> str:
    """Return a fraction as a percentage with its deviation and, on a second line, its interval."""
    if measure is None or measure.interval is None:
        return percent(measure)
    low, high = (100 * bound for bound in measure.interval)
    return f"{percent(measure)}\n({low:.1f} to {high:.1f})"


def percent(measure: Measure | None) -> str:
    """Return a fraction as a percentage with its deviation."""
    if measure is None:
        return EMPTY
    deviation = "" if measure.deviation is None else f" ± {100 * measure.deviation:.1f}"
    return f"{100 * measure.mean:.1f}{deviation}"


def distinct_percents(values: Iterable[float | None]) -> str:
    """Return fractions as percentages, joined by "or" without repetitions. For one data set there should be only one."""
    return " or ".join(dict.fromkeys(f"{100 * value:.1f}" for value in values if value is not None)) or EMPTY


def number_with_interval(measure: Measure | None, digits: int = 1) -> str:
    """Return a number with its deviation and, on a second line, its interval."""
    if measure is None:
        return EMPTY
    text = f"{measure.mean:.{digits}f}" + ("" if measure.deviation is None else f" ± {measure.deviation:.{digits}f}")
    if measure.interval is None:
        return text
    low, high = measure.interval
    return f"{text}\n({low:.{digits}f} to {high:.{digits}f})"


def count(measure: Measure | None) -> str:
    """Return a count, a large one in millions."""
    if measure is None:
        return EMPTY
    return f"{measure.mean / 1e6:.1f} M" if measure.mean >= 1e5 else f"{measure.mean:,.0f}"
