"""What a comparison of single models shows: whether the intervals of the last one and of the others overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticketlab.core.formatting import joined
from ticketlab.report.rows import ResultRow
from ticketlab.report.statistics import Measure

EVIDENCE = "One seed decides nothing in either case: the section Evidence of the documentation has studies with five."


def overlap_notes(rows: Sequence[ResultRow]) -> list[str]:
    """Return a sentence for each attack and challenge set: how the last model compares with each of the others.

    A number of one model has the 95 % interval of its examples. Models whose intervals overlap are not told apart, though a paired test
    may do so. There is no sentence where a number or its interval is missing, and none at all if nothing can be compared.
    """
    last = rows[-1]
    found = [
        text
        for name, measure in _numbers(last)
        if (text := _compared(name, last.label, measure, [(row.label, dict(_numbers(row)).get(name)) for row in rows[:-1]]))
    ]
    return [*found, EVIDENCE] if found else []


def _numbers(row: ResultRow) -> Iterator[tuple[str, Measure | None]]:
    """Yield the names of the attacks and challenge sets, and the accuracy of the model on each."""
    yield from ((f"under {attack.label or attack.name}", attack.aua) for attack in row.attacks)
    yield from ((f"on {challenge.name}", challenge.accuracy) for challenge in row.challenges)


def _compared(name: str, label: str, own: Measure | None, others: Sequence[tuple[str, Measure | None]]) -> str:
    """Return the sentence about one attack or set; empty without intervals."""
    if own is None or own.interval is None:
        return ""
    known = [(other, measure, measure.interval) for other, measure in others if measure is not None and measure.interval is not None]
    parts = []
    for verdict, holds in (
        ("above", [other for other, _, interval in known if own.interval[0] > interval[1]]),
        ("below", [other for other, _, interval in known if own.interval[1] < interval[0]]),
        ("overlaps with", [other for other, _, interval in known if own.interval[0] <= interval[1] and interval[0] <= own.interval[1]]),
    ):
        if holds:
            parts.append(f"{verdict} that of {joined([f'the {one}' for one in holds])}")
    if not parts:
        return ""
    overlapping = any(part.startswith("overlaps") for part in parts)
    ends = ": where intervals overlap, this run does not show a difference" if overlapping else ""
    return f"Accuracy {name}: the 95 % interval of the {label}, {_text(own.interval)}, {_is(parts)}{ends}."


def _is(parts: Sequence[str]) -> str:
    return joined([part if part.startswith("overlaps") else f"is {part}" for part in parts])


def _text(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.0f} to {100 * interval[1]:.0f} %"
