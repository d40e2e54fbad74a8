"""The notes under the tables of a run, or of the cells of a comparison: the warnings of data sets and stages, without repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.formatting import counted
from ticketlab.lab.results import stage_results
from ticketlab.report.cells import Cell, Comparison

NUMBERS_NOTE = "numbers_note"
"""The entry in the result of a stage that says how its ``numbers`` were measured."""


@frozen
class Note:
    """A warning about a ``subject``: a data set, or a task and a stage. ``seeds`` are those that it concerns, or empty if all."""

    subject: str
    text: str
    seeds: tuple[str, ...] = ()

    def __str__(self) -> str:
        subject = f"{self.subject}{f' ({_named(self.seeds)})' if self.seeds else ''}"
        return f"{subject}: {self.text}" if subject else self.text


@frozen
class CellsNote:
    """A note of several cells, with the seeds that it concerns unless all do."""

    text: str
    cells: tuple[Cell, ...]


def notes(results: Mapping[str, Any]) -> list[str]:
    """Return the warnings in a ``results.json``, each prefixed by the data set, or by the task, stage and seeds that it concerns.

    A warning about a model or a file of texts that is the input of several stages is listed once.
    """
    return [str(note) for note in _notes(results)]


def notes_of_cells(comparison: Comparison) -> Iterator[CellsNote]:
    """Yield the notes of all finished cells. Those that differ only in their cells or seeds are one."""
    seeds_of: dict[tuple[str, str], dict[Cell, tuple[str, ...]]] = {}
    for cell, results in comparison.finished:
        for note in _notes(results):
            seeds_of.setdefault((note.subject, note.text), {})[cell] = note.seeds
    for (subject, text), by_cell in seeds_of.items():
        different = len(set(by_cell.values())) > 1
        note = Note(subject, text, () if different else next(iter(by_cell.values())))
        partly = {cell.label: seeds for cell, seeds in by_cell.items() if seeds}
        yield CellsNote(f"{note}{f' ({_partly(partly)})' if different else ''}", tuple(by_cell))


def _partly(seeds_of: Mapping[str, Sequence[str]]) -> str:
    """Return which cells a note concerns with some of their seeds only."""
    if len(seeds_of) > 1:
        return f"{counted(len(seeds_of), 'cell')} with some seeds only"
    ((label, seeds),) = seeds_of.items()
    return f"{label} with {_named(seeds)} only"


def _notes(results: Mapping[str, Any]) -> list[Note]:
    seeds_of: dict[tuple[str, str, str], list[str]] = {}
    of_inputs: list[str] = []
    of_numbers: list[str] = []
    for stage in stage_results(results):
        for warning in stage.result.get("warnings", ()):
            seeds_of.setdefault((stage.task, stage.name, warning), []).append(stage.seed)
        of_inputs += stage.result.get("input_warnings", ())
        of_numbers += [stage.result[NUMBERS_NOTE]] if NUMBERS_NOTE in stage.result else []
    of_data = [Note(name, warning) for name, about in results.get("data", {}).items() for warning in about["warnings"]]
    every = len(results["seeds"])
    of_stages = [
        Note(f"{task}, {stage}", text, () if len(seeds) == every else tuple(seeds)) for (task, stage, text), seeds in seeds_of.items()
    ]
    return [*of_data, *(Note("", text) for text in dict.fromkeys((*of_numbers, *of_inputs))), *of_stages]


def _named(seeds: Sequence[str]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"
