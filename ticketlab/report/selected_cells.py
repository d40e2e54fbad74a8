"""A comparison without a factor: of the cells that differ in it alone, the one that is best on development data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from ticketlab.lab.results import stage_results
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.numbers import all_numbers
from ticketlab.report.selection import Selection, select_level
from ticketlab.report.table_spec import resolve_axes, spec_of

WITHOUT_VERDICTS = "the hypotheses are about all cells of the study, and are not decided on selected ones"


def select_cells(comparison: Comparison, factor: str, metric: str = "", selected_on: str = "") -> Comparison:
    """Return the comparison of the cells with the best level of ``factor``, with notes that say how it was selected.

    The level is selected for ``metric``, by default the table's first, by ``selected_on``, a metric of the development split, by default
    the same one there; see :func:`ticketlab.report.selection.select_level`. Cells of which none could be selected are left out, and a
    note says why.

    :raises UsageError: there is no such factor or metric, or ``selected_on`` is not measured on development data.
    """
    metric = metric or next(iter(resolve_axes(comparison, all_numbers(comparison), spec_of(comparison)).metrics), "")
    selections = select_level(comparison, factor, metric, selected_on=selected_on)
    cells = {cell.label: cell for cell in comparison.cells}
    tasks: dict[str, list[str]] = {}
    for selection in selections:
        if selection.level is not None:
            tasks.setdefault(selection.cell, []).append(selection.task)
    selected = tuple(_without(cells[label], factor, of_cell) for label, of_cell in tasks.items())
    baseline, lost = _baseline(comparison, factor, selected)
    about = [*map(_note, selections), *lost, *([WITHOUT_VERDICTS] if comparison.hypotheses else [])]
    return evolve(
        comparison,
        factors=tuple(known for known in comparison.factors if known.name != factor),
        cells=selected,
        baseline=baseline,
        notes=(*comparison.notes, *about),
        hypotheses=(),
        table={key: _names_without(names, factor) for key, names in comparison.table.items()},
    )


def _without(cell: Cell, factor: str, tasks: list[str]) -> Cell:
    """Return the cell without its level of the factor, and with the results of the tasks for which it was selected."""
    results: Mapping[str, Any] = cell.results or {}
    measured = {stage.task for stage in stage_results(results or {"tasks": {}}) if stage.data in tasks}
    of_tasks = {task: found for task, found in results.get("tasks", {}).items() if task in measured}
    levels = {name: level for name, level in cell.levels.items() if name != factor}
    return evolve(cell, levels=levels, results={**results, "tasks": of_tasks})


def _baseline(comparison: Comparison, factor: str, selected: Sequence[Cell]) -> tuple[str, list[str]]:
    """Return the baseline among the selected cells, empty if there is none, and a note if it is not the comparison's."""
    name = comparison.baseline
    cell = next((cell for cell in comparison.cells if cell.label == name), None)
    if cell is None:
        levels = next(known.levels for known in comparison.factors if known.name == factor)
        return ("", [f"nothing is compared with the baseline {name}: it is a level of {factor}"]) if name in levels else (name, [])
    others = {key: level for key, level in cell.levels.items() if key != factor}
    same = [one.label for one in selected if one.levels == others]
    if name in same:
        return name, []
    if same:
        return same[0], [f"the baseline is {same[0]}, because {name} was not selected"]
    return "", [f"nothing is compared with the baseline {name}: it was not selected, nor was another level of {factor} in its place"]


def _names_without(names: Any, factor: str) -> Any:
    return [name for name in names if name != factor] if isinstance(names, (list, tuple)) else "" if names == factor else names


def _note(selection: Selection) -> str:
    levels = [level for level in selection.levels.values() if level != selection.task]
    where = ", ".join([*levels, *([selection.task] if selection.task else [])])
    return f"{where}: {selection.description}" if where else selection.description
