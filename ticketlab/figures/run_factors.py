"""Factors of runs that no study has planned: the settings in which their recipes differ."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from ticketlab.core.formatting import counted
from ticketlab.figures.positions import as_number
from ticketlab.lab.layout import RECIPE as RECIPE_FILE
from ticketlab.report.cells import RUN, Cell, Comparison, Factor

RECIPE = "recipe"
NOT_FACTORS = ("summary", "paper", "paper_seeds", "seeds", "tasks", "model_folder")
"""Entries of a recipe that describe it, and those that a picture shows in other ways."""
NAME = "name"


def with_factors(comparison: Comparison, *named: str | Sequence[str] | None) -> Comparison:
    """Return a comparison of plain runs with the settings that differ as its factors; any other comparison unchanged.

    A setting that is ``named`` is a factor. Any other is one if it tells apart runs that the factors before it do not: first the recipe,
    then the components, and their settings. Its name is the last part of its path (``sparsity``) unless that is ambiguous.
    """
    if [factor.name for factor in comparison.factors] != [RUN]:
        return comparison
    settings = {cell.label: _settings(cell) for cell in comparison.cells}
    cells = [cell.label for cell in comparison.cells]
    wanted = [name for value in named for name in ([] if value is None else value.split(",") if isinstance(value, str) else value)]
    kept: list[str] = []
    paths, always = _in_order(settings, wanted)
    for path in paths:
        groups: dict[tuple[str | None, ...], set[str]] = {}
        for label in cells:
            if path in settings[label]:
                groups.setdefault(tuple(settings[label].get(other) for other in kept), set()).add(settings[label][path])
        if path in always or any(len(values) > 1 for values in groups.values()):
            kept.append(path)
    if not kept:
        return evolve(comparison, title=_title(comparison))
    names = _names(kept)
    factors = tuple(
        Factor(names[path], _levels(settings[label][path] for label in cells if path in settings[label]), path) for path in kept
    )
    changed = tuple(
        evolve(cell, levels={names[path]: settings[cell.label][path] for path in kept if path in settings[cell.label]} or cell.levels)
        for cell in comparison.cells
    )
    unexplained = len({tuple(sorted(cell.levels.items())) for cell in changed}) < len(changed)
    if unexplained:  # runs of one recipe under other data or another version
        factors = (*factors, comparison.factors[0])
        changed = tuple(evolve(cell, levels={**cell.levels, RUN: cell.label}) for cell in changed)
    return evolve(comparison, title=_title(comparison), factors=factors, cells=_sorted(changed, factors))


def _sorted(cells: Sequence[Cell], factors: Sequence[Factor]) -> tuple[Cell, ...]:
    """Return the cells in the order of their levels, those without a level first."""

    def rank(cell: Cell) -> list[int]:
        return [factor.levels.index(cell.levels[factor.name]) if factor.name in cell.levels else -1 for factor in factors]

    return tuple(sorted(cells, key=rank))


def _title(comparison: Comparison) -> str:
    if len(comparison.cells) <= 2:
        return comparison.title
    recipes = dict.fromkeys(str(results[RECIPE]) for _, results in comparison.finished)
    return f"{counted(len(comparison.cells), 'run')} of {', '.join(recipes)}"


def _settings(cell: Cell) -> dict[str, str]:
    """Return the settings of a run as text by path; a component by the path of its table, without ``name``."""
    results = cell.results or {}
    flat = {RECIPE: str(results.get(RECIPE, ""))}
    try:
        table = tomllib.loads((cell.folder / RECIPE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return flat
    _flatten({name: value for name, value in table.items() if name not in NOT_FACTORS}, "", flat)
    return flat


def _flatten(table: Mapping[str, Any], prefix: str, flat: dict[str, str]) -> None:
    for name, value in table.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            if isinstance(value.get(NAME), str):
                flat[path] = value[NAME]
            _flatten({key: entry for key, entry in value.items() if key != NAME}, f"{path}.", flat)
        elif isinstance(value, list):
            flat[path] = ", ".join(str(entry.get(NAME, entry)) if isinstance(entry, Mapping) else str(entry) for entry in value)
        else:
            flat[path] = f"{value:g}" if isinstance(value, float) else str(value)


def _in_order(settings: Mapping[str, Mapping[str, str]], wanted: Sequence[str]) -> tuple[list[str], set[str]]:
    """Return the settings that may be factors, in their order, and those of them that are wanted."""
    paths = list(dict.fromkeys(path for flat in settings.values() for path in flat))
    differing = {path for path in paths if len({flat[path] for flat in settings.values() if path in flat}) > 1}

    def rank(path: str) -> tuple[bool, int, bool, bool]:
        return path != RECIPE, path.count("."), path not in differing, not path.startswith("draw.")

    named = [sorted((path for path in paths if _is(path, name)), key=lambda path: (path not in differing, *rank(path))) for name in wanted]
    chosen = {found[0] for found in named if found}
    return sorted(differing | chosen, key=lambda path: (path != RECIPE, path not in chosen, *rank(path), paths.index(path))), chosen


def _is(path: str, name: str) -> bool:
    return path == name or path.endswith(f".{name}")


def _names(paths: Sequence[str]) -> dict[str, str]:
    short = [path.rpartition(".")[2] for path in paths]
    return {path: name if short.count(name) == 1 else path for path, name in zip(paths, short, strict=True)}


def _levels(values: Any) -> tuple[str, ...]:
    """Return distinct levels: numbers in ascending order, else in the order of appearance."""
    distinct = list(dict.fromkeys(values))
    numbers = {level: as_number(level) for level in distinct}
    known = [number for number in numbers.values() if number is not None]
    return tuple(sorted(distinct, key=lambda level: numbers[level] or 0.0)) if len(known) == len(distinct) else tuple(distinct)
