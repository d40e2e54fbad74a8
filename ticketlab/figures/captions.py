"""What a picture says about itself below its title: model, task, sample of the attack, scale, seeds, band, and what is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ticketlab.core.formatting import counted, joined, printable
from ticketlab.figures.measured import Measured
from ticketlab.figures.spread import DESCRIPTIONS, Band
from ticketlab.report.cells import Cell, Comparison

MOST_NAMES = 4


def about(comparison: Comparison, entries: Sequence[Measured], band: Band | None = None) -> list[str]:
    """Return the lines of a subtitle for entries that are drawn."""
    seeds = sorted({len(entry.values) for entry in entries})
    lines = [
        " · ".join(
            [
                *_named("model", (entry.model for entry in entries)),
                *_named("task", (entry.task for entry in entries)),
                *_named("scale", (entry.scale for entry in entries)),
                seeds_text(seeds, band),
            ]
        ),
        *_examples(entries),
        *missing(comparison, {entry.cell.label for entry in entries}, "Without these numbers"),
    ]
    title = printable(comparison.title)
    return ([title] if title else []) + lines


def about_runs(comparison: Comparison, drawn: Sequence[Cell], seeds: Sequence[int], what: str) -> list[str]:
    """Return the lines of a subtitle for pictures that are not made of numbers but, for example, of tickets.

    ``drawn`` are the cells that have ``what`` the picture shows, and ``seeds`` the numbers of seeds behind each mean.
    """
    results = [cell.results for cell in drawn if cell.results is not None]
    parts = [
        *_named("model", (str(found["model"]) for found in results)),
        *_named("task", (task for found in results for task in found["tasks"])),
        *_named("scale", (str(found["scale"]) for found in results)),
        *([seeds_text(sorted(set(seeds)), None)] if seeds else []),
    ]
    title = printable(comparison.title)
    return ([title] if title else []) + [" · ".join(parts), *missing(comparison, {cell.label for cell in drawn}, f"Without {what}")]


def seeds_text(seeds: Sequence[int], band: Band | None) -> str:
    """Return how many seeds are behind each value, and what the band is."""
    if list(seeds) == [1]:
        return "one seed, so no band" if band in DESCRIPTIONS else "one seed"
    number = str(seeds[0]) if seeds[0] == seeds[-1] else f"{seeds[0]} to {seeds[-1]}"
    return f"mean of {number} seeds" + (f", {DESCRIPTIONS[band]}" if band in DESCRIPTIONS else "")


def missing(comparison: Comparison, drawn: Collection[str], without: str) -> list[str]:
    """Return lines that name the cells without results, with the first error among them, and those that are finished but not drawn."""
    unfinished = [cell for cell in comparison.cells if cell.results is None]
    repeated = [cell for cell in comparison.cells if cell.same_as and cell.inapplicable]
    others = [cell for cell, _ in comparison.finished if cell.label not in drawn and cell not in repeated]
    failed = [cell for cell in unfinished if cell.error]
    reason = f"; {len(failed)} failed, the first with: {printable(failed[0].error)[:120]}" if failed else ""
    return [
        *([f"Missing: {_cells(unfinished)} of {len(comparison.cells)}{reason}"] if unfinished else []),
        *([f"{without}: {_cells(others)}"] if others else []),
    ]


def _cells(cells: Sequence[Cell]) -> str:
    names = [printable(cell.label) for cell in cells[:MOST_NAMES]]
    more = [f"{len(cells) - MOST_NAMES} more"] if len(cells) > MOST_NAMES else []
    return f"{counted(len(cells), 'cell')} ({'; '.join(names + more)})"


def axis_note(start: float, percent: bool, name: str = "vertical") -> list[str]:
    """Return a line that says where an axis begins if it is not zero."""
    return [f"The {name} axis starts at {start:g}{' %' if percent else ''}."] if start != 0 else []


def _named(kind: str, names: Iterable[str]) -> list[str]:
    distinct = list(dict.fromkeys(names))
    if len(distinct) > MOST_NAMES:
        return [f"{len(distinct)} {kind}s"]
    prefix = f"{kind} " if kind == "scale" else ""
    return [prefix + joined([printable(name) for name in distinct])] if distinct else []


def _examples(entries: Sequence[Measured]) -> list[str]:
    """Return the numbers of examples behind attacks and accuracies."""
    lines = []
    for what, chosen in (
        ("attacked", [entry for entry in entries if entry.attack]),
        ("evaluated", [entry for entry in entries if not entry.attack]),
    ):
        sizes = sorted({entry.n for entry in chosen if entry.n is not None})
        splits = list(dict.fromkeys(entry.split for entry in chosen if entry.n is not None))
        if sizes:
            number = f"{sizes[0]:,}" if sizes[0] == sizes[-1] else f"{sizes[0]:,} to {sizes[-1]:,}"
            lines.append(f"{number} {' and '.join(splits)} examples {what}")
    return [" · ".join(lines)] if lines else []
