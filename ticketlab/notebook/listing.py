"""Selects and sorts the runs of the notebook."""

from __future__ import annotations

import fnmatch
import math
import re
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.notebook.entries import Entry
from ticketlab.report.cells import RUN, Cell
from ticketlab.report.numbers import Number, numbers

AGE, SIZE, NAME = "age", "size", "name"
ORDERS = (AGE, SIZE, NAME)
"""What runs can be sorted by, besides any metric."""
UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@frozen(kw_only=True)
class Filter:
    """Which runs to list: those that match every condition that is given.

    ``pattern`` is part of the name, digest, label or a task of a run, or a pattern with ``*`` and ``?`` for the whole of one of these; case
    is ignored. ``since`` is a time in seconds since the epoch.
    """

    pattern: str = ""
    recipe: str = ""
    task: str = ""
    since: float | None = None
    unfinished: bool = False

    def accepts(self, entry: Entry) -> bool:
        """Return whether a run is listed."""
        return (
            (not self.recipe or entry.recipe == self.recipe)
            and (not self.task or self.task in entry.tasks)
            and (self.since is None or entry.changed >= self.since)
            and (not self.unfinished or entry.state != "finished")
            and (not self.pattern or any(_matches(self.pattern, text) for text in _texts(entry)))
        )


def parse_since(text: str, now: float | None = None) -> float:
    """Return the time that ``--since`` means: a duration before now (``30m``, ``12h``, ``2d``, ``1w``), or a date (``2026-01-31``).

    :raises UsageError: it is neither.
    """
    from datetime import datetime

    seconds = _seconds(text)
    if seconds is not None:
        return (time.time() if now is None else now) - seconds
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--since {text}: neither a duration such as 30m, 12h, 2d or 1w nor a date such as 2026-01-31") from None


def parse_age(flag: str, text: str) -> float:
    """Return a duration in seconds.

    :raises UsageError: it is not a duration.
    """
    seconds = _seconds(text)
    if seconds is None:
        raise UsageError(f"{flag} {text}: not a duration such as 30m, 12h, 2d or 1w")
    return seconds


def _seconds(text: str) -> float | None:
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([mhdw])", text.strip())
    return float(found[1]) * UNITS[found[2]] if found else None


def metric_numbers(metric: str, known: set[str]) -> Callable[[Path, Mapping[str, Any]], tuple[Number, ...]]:
    """Return a function of a run's directory and results that returns the numbers of a metric (:mod:`ticketlab.report.numbers`).

    There is one number for each distinct measurement. The metrics of each run are added to ``known``.
    """

    def measured(folder: Path, results: Mapping[str, Any]) -> tuple[Number, ...]:
        try:
            found = [number for number in numbers(Cell(folder.name, {RUN: folder.name}, folder, results)) if number.step is None]
        except (KeyError, TypeError, AttributeError, ValueError):
            return ()
        known.update(number.metric for number in found)
        return tuple({number.key: number for number in found if number.metric == metric}.values())

    return measured


def check_metric(metric: str, entries: Iterable[Entry], known: set[str]) -> None:
    """Check that a run has the metric to sort by.

    :raises UsageError: none has it.
    """
    if known and not any(entry.values for entry in entries):
        raise UsageError(f"--sort {metric}: neither {', '.join(ORDERS)} nor a metric of these runs{did_you_mean(metric, known)}")


def ordered(entries: Sequence[Entry], by: str) -> list[Entry]:
    """Return runs sorted: the newest, the largest, or those with the highest value of a metric first, or by name.

    Runs without a value of the metric are last.
    """
    if by == NAME:
        return sorted(entries, key=lambda entry: entry.name)
    if by == SIZE:
        return sorted(entries, key=lambda entry: (-entry.bytes, entry.name))
    newest = sorted(entries, key=lambda entry: (-entry.changed, entry.name))
    return newest if by == AGE else sorted(newest, key=lambda entry: -statistics.fmean(entry.values) if entry.values else math.inf)


def _texts(entry: Entry) -> list[str]:
    return [entry.name, *entry.names, entry.digest, entry.recipe, f"{entry.recipe} ({entry.differs})", entry.model, *entry.tasks]


def _matches(pattern: str, text: str) -> bool:
    if any(char in pattern for char in "*?["):
        return fnmatch.fnmatchcase(text.casefold(), pattern.casefold())
    return pattern.casefold() in text.casefold()
