"""The summary at the top of a page: what was compared, and first of all what a reader must know before trusting the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.formatting import counted, joined, verb
from ticketlab.lab.results import checkpoint_name
from ticketlab.pages.cell_names import CellNames
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.notes import notes_of_cells
from ticketlab.report.one_class import nothing_to_fool
from ticketlab.report.rows import count_errors, count_timeouts
from ticketlab.report.summaries import Summary
from ticketlab.report.table_notes import MOST_NAMED

NAMED_CELLS = 6
"""A problem of more cells names the first ones only."""
FULL = ("full", "")
"""The values of ``scale`` at which nothing is reduced."""


@frozen
class CellLink:
    """The label of a cell and the id of its details in the page."""

    label: str
    anchor: str


@frozen
class Problem:
    """Something that a reader must know, and the cells that it is about; ``more`` is the number of cells that are not listed."""

    text: str
    cells: tuple[CellLink, ...] = ()
    more: int = 0


@frozen
class Fact:
    """A line of the summary: its heading, and one or several values."""

    heading: str
    values: tuple[str, ...]


def title(comparison: Comparison) -> str:
    """Return the title of the page. More than two runs without a title are counted instead of named."""
    folders = [cell.folder.name for cell in comparison.cells]
    unnamed = comparison.title == ", ".join(folders)
    return counted(len(folders), "run") if unnamed and len(folders) > MOST_NAMED else comparison.title


def facts(comparison: Comparison) -> list[Fact]:
    """Return what was compared: the factors and their levels, tasks, models, scales and seeds."""
    results = [found for _, found in comparison.finished]
    finished = len(results)
    cells = counted(len(comparison.cells), "cell")
    known = {
        "Tasks": _distinct(task for found in results for task in found["tasks"]),
        "Challenge sets": _distinct(name for found in results for name in found.get("ood", ())),
        "Models": _distinct(found["model"] for found in results),
        "Scale": _distinct(found["scale"] or "full" for found in results),
        "Seeds": _distinct(", ".join(map(str, found["seeds"])) for found in results),
        "Baseline": (comparison.baseline,) if comparison.baseline else (),
    }
    factors = [Fact(factor.name, factor.levels) for factor in CellNames(comparison).factors if len(comparison.cells) > 1]
    cells_fact = Fact("Cells", (cells if finished == len(comparison.cells) else f"{cells}, {finished} finished",))
    return [*factors, cells_fact, *(Fact(heading, values) for heading, values in known.items() if values)]


def problems(comparison: Comparison, summaries: Sequence[Summary], names: CellNames) -> list[Problem]:
    """Return what failed, is not finished, repeats another cell, predicts one class, was reduced or left out, and what the runs warn of."""
    return [
        *_failed(comparison, names),
        *_repeated(comparison, summaries, names),
        *_of_one_class(comparison, summaries, names),
        *_reduced(comparison, names),
        *(Problem(note) for note in comparison.notes),
        *_without_result(comparison, names),
    ]


def warnings(comparison: Comparison, names: CellNames) -> list[Problem]:
    """Return the warnings of all runs, those of most cells first."""
    every = len(comparison.finished)
    found = sorted(notes_of_cells(comparison), key=lambda item: -len(item.cells))
    return [Problem(note.text) if len(note.cells) == every else _problem(note.text, note.cells, names) for note in found]


def _failed(comparison: Comparison, names: CellNames) -> Iterator[Problem]:
    for cell in comparison.cells:
        if cell.error:
            yield _problem(f"failed: {cell.error}", [cell], names)
    for reason in dict.fromkeys(cell.unavailable for cell in comparison.cells if cell.unavailable):
        yield _problem(f"not computed: {reason}", [cell for cell in comparison.cells if cell.unavailable == reason], names)
    for cell in comparison.cells:
        if cell.missing:
            yield _problem(f"not in the lab: {cell.missing}", [cell], names)
    reasons = ("error", "unavailable", "missing")
    unfinished = [cell for cell in comparison.cells if cell.results is None and not any(getattr(cell, reason) for reason in reasons)]
    if unfinished:
        yield _problem("not finished: no numbers yet", unfinished, names)


def _repeated(comparison: Comparison, summaries: Sequence[Summary], names: CellNames) -> Iterator[Problem]:
    """Yield the cells that are computed from the same stages as an earlier cell, and the models that do not depend on the seed."""
    same: dict[str, list[Cell]] = {}
    for cell in comparison.cells:
        if cell.same_as:
            same.setdefault(cell.same_as, []).append(cell)
    by_keys: dict[frozenset[str], str] = {}
    measured: dict[str, set[str]] = {}
    for summary in summaries:
        measured.setdefault(summary.number.cell, set()).update(number.key for number in summary.values)
    for cell, _ in comparison.finished:
        keys = frozenset(measured.get(cell.label, ()))
        earlier = by_keys.setdefault(keys, cell.label)
        if keys and earlier != cell.label and not cell.same_as:
            same.setdefault(earlier, []).append(cell)
    for earlier, cells in same.items():
        yield _problem(f"the same computation as {earlier}: equal numbers are not independent results", cells, names)
    without_effect: dict[tuple[str, ...], list[Cell]] = {}
    for cell in comparison.cells:
        if cell.inapplicable:
            without_effect.setdefault(cell.inapplicable, []).append(cell)
    for factors, cells in without_effect.items():
        yield _problem(f"{joined(factors)} {verb(len(factors), 'has', 'have')} no effect", cells, names)
    once = {summary.number.cell for summary in summaries if summary.statistics.seeds < len(summary.values)}
    if once:
        text = "seeds share a measurement, because it does not depend on the seed: it counts once"
        yield _problem(text, [cell for cell in comparison.cells if cell.label in once], names)


def _of_one_class(comparison: Comparison, summaries: Sequence[Summary], names: CellNames) -> Iterator[Problem]:
    """Yield the attacked models that predict one class for every example."""
    by_text: dict[str, dict[str, Cell]] = {}
    by_label = {cell.label: cell for cell in comparison.cells}
    several_tasks = len({summary.number.task for summary in summaries}) > 1
    models: dict[str, set[str]] = {}
    for summary in (summary for summary in summaries if summary.number.of):
        models.setdefault(summary.number.cell, set()).add(checkpoint_name(summary.number.of, summary.number.checkpoint))
    for summary in summaries:
        number = summary.number
        if reason := nothing_to_fool(by_label[number.cell], summary):
            model = checkpoint_name(number.of, number.checkpoint) if len(models[number.cell]) > 1 else "the model"
            text = f"{f'{number.task}: ' if several_tasks else ''}{model} {reason}"
            by_text.setdefault(text, {})[number.cell] = by_label[number.cell]
    for text, cells in by_text.items():
        yield _problem(f"{text}. A high Aua is no robustness then, and is not marked as the best", list(cells.values()), names)


def _reduced(comparison: Comparison, names: CellNames) -> Iterator[Problem]:
    by_scale: dict[str, list[Cell]] = {}
    for cell, results in comparison.finished:
        by_scale.setdefault(str(results["scale"]), []).append(cell)
    for scale, cells in by_scale.items():
        if scale not in FULL:
            text = f"scale {scale}: data and training are reduced, so the numbers are not comparable with those of a paper"
            yield Problem(text) if len(by_scale) == 1 else _problem(text, cells, names)
    seeds = {len(results["seeds"]) for _, results in comparison.finished}
    if seeds == {1}:
        yield Problem("one seed: the differences between cells include the chance of one training each")


def _without_result(comparison: Comparison, names: CellNames) -> Iterator[Problem]:
    """Yield the attacked examples that ended in errors or exceeded the time limit: they are not in the numbers."""
    for count, what in ((count_errors, "ended in an error"), (count_timeouts, "exceeded the time limit")):
        with_count = [(cell, number) for cell, results in comparison.finished if (number := count(results))]
        total = sum(number for _, number in with_count)
        if total:
            text = f"{counted(total, 'attacked example')} {what} and {verb(total)} not in the numbers"
            yield _problem(text, [cell for cell, _ in with_count], names)


def _problem(text: str, cells: Sequence[Cell], names: CellNames) -> Problem:
    links = tuple(CellLink(cell.label, names.anchor(cell.label)) for cell in cells[:NAMED_CELLS])
    return Problem(text, links, len(cells) - len(links))


def _distinct(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, values)))
