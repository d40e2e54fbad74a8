"""Reads the definition of a study from a TOML file, or from the same keys as Python values."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from attrs import evolve

from ticketlab.core import files
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.settings import build_component
from ticketlab.recipes.overrides import find_tasks
from ticketlab.recipes.tables import merge, text_of
from ticketlab.studies import report_keys
from ticketlab.studies.definition import DEFAULT_RECIPE, GRID, ONE_AT_A_TIME, RECIPE, TASK, Study
from ticketlab.studies.factor_tables import listed, read_exclusions, read_factor, with_added, with_several
from ticketlab.studies.keys import argument_of
from ticketlab.studies.levels import FactorLevels, factor_of, plain_value
from ticketlab.studies.tables import as_table, as_tables
from ticketlab.tasks.base import Task

DESIGNS = (GRID, ONE_AT_A_TIME)
KEYS = (
    *("summary", "paper", "recipes", "tasks", "model", "scale", "seeds", "until", "design", "baseline", "set", "vary", "factors"),
    *("exclude", "scales"),
    *report_keys.KEYS,
)
"""The top-level keys of a study file."""
FILE_KEYS = ("recipes", "vary", "factors", "design")
"""Keys that tell a study file from a recipe."""
SELECTING = ("recipes", "tasks", "design", "vary", "factors", "exclude")
"""Keys that decide which cells a study has; what they measure is decided by its settings, too."""


def read_study(path: str | Path, *, scale: str | None = None, factors_added: Sequence[FactorLevels] = (), **changes: Any) -> Study:
    """Read a study file.

    ``scale`` chooses one of its scales, ``changes`` replace its top-level keys, and ``factors_added`` its factors of the same names.

    :raises UsageError: there is no such file, it is not TOML, or it is not a study.
    """
    path = files.expand(path)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    try:
        table = tomllib.loads(text_of(path))
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{path}: not TOML: {problem}") from None
    try:
        return evolve(study_of(path.stem, table, scale=scale, factors_added=factors_added, **changes), source=str(path))
    except UsageError as problem:
        raise UsageError(f"{path}: {problem}") from None


def is_study_file(name: str) -> bool:
    """Return whether a name is that of a study file, and not of a recipe."""
    path = files.expand(name)
    if path.suffix != ".toml" or not path.is_file():
        return False
    try:
        table = tomllib.loads(text_of(path))
    except (ValueError, RecursionError):
        return False  # reading it as a recipe reports the error
    return any(key in table for key in FILE_KEYS)


def study_of(
    name: str, table: Mapping[str, Any], *, scale: str | None = None, factors_added: Sequence[FactorLevels] = (), **changes: Any
) -> Study:
    """Return the study of a table; see :func:`read_study`.

    :raises UsageError: the table is not a study.
    """
    for key in (*table, *changes):
        if key not in KEYS:
            raise UsageError(f"`{key}` is not a key of a study{did_you_mean(key, KEYS)}")
    whole = dict(table)
    scales = as_table(whole.pop("scales", {}), "scales")
    chosen = changes.pop("scale", None) or scale or whole.get("scale")
    whole.pop("scale", None)
    if chosen and chosen in scales:
        whole = merge(whole, as_table(scales[chosen], f"scales.{chosen}"))
        chosen = whole.pop("scale", chosen)
    may_be_gone = changes.get("exclude") is None and bool(chosen in scales or factors_added)
    own_settings = as_table(changes.get("set") or {}, "set").keys() - {"model"}
    reduced = bool(chosen in scales or factors_added or own_settings or any(changes.get(key) for key in SELECTING))
    settings = _settings(whole, changes)
    whole |= {key: value for key, value in changes.items() if value is not None and key not in ("set", "model")}
    recipes, tasks = listed(whole.get("recipes", DEFAULT_RECIPE)), _tasks(whole.get("tasks", ()))
    if not recipes or not all(isinstance(recipe, (str, Path)) for recipe in recipes):
        raise UsageError(f"recipes: must be the name or file of a recipe, or a list of them, not {whole['recipes']!r}")
    factors = [read_factor(table) for table in as_tables(whole.get("factors", ()), "factors")]
    factors += [factor_of(key, values, f"vary.{key}") for key, values in as_table(whole.get("vary", {}), "vary").items()]
    factors = with_added(factors, factors_added)
    factors = with_several(RECIPE, recipes, factors)
    factors = with_several(TASK, tasks, factors)
    names = [factor.name for factor in factors]
    if len(set(names)) < len(names):
        raise UsageError(f"the factor `{next(name for name in names if names.count(name) > 1)}` is given twice; remove one")
    _check_effect(as_table(changes.get("set") or {}, "set"), factors)
    design = str(whole.get("design", GRID))
    if design not in DESIGNS:
        raise UsageError(f"design: `{design}` is not a design{did_you_mean(design, DESIGNS)}; choose {' or '.join(DESIGNS)}")
    return Study(
        name=name,
        recipe=str(recipes[0]),
        tasks=tuple(tasks if len(tasks) == 1 else ()),
        scale=None if chosen in (None, "full") else str(chosen),
        seeds=_seeds(whole["seeds"]) if "seeds" in whole else None,
        design=design,
        baseline=str(whole.get("baseline", "")),
        until=str(whole.get("until", "")),
        settings=settings,
        factors=tuple(factors),
        exclude=read_exclusions(as_tables(whole.get("exclude", ()), "exclude"), factors, may_be_gone=may_be_gone),
        summary=str(whole.get("summary", "")),
        paper=str(whole.get("paper", "")),
        report=report_keys.read_report_keys(whole, names),
        reduced=reduced,
    )


def _settings(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of all cells: those of the table, its model included, with those of the changes over them."""
    found: dict[str, Any] = {}
    for source in (table, changes):
        found |= {key: plain_value(value, f"set.{key}") for key, value in as_table(source.get("set") or {}, "set").items()}
        found |= {"model": str(source["model"])} if source.get("model") is not None else {}
    return found


def _check_effect(given: Iterable[str], factors: Sequence[FactorLevels]) -> None:
    """Refuse a setting given with a study file that every level of a factor replaces. The file's own may be defaults of other scales.

    :raises UsageError: there is one.
    """
    for key, factor in itertools.product(given, factors):
        if all(argument_of(key) in map(argument_of, level.settings) for level in factor.levels):
            labels = ", ".join(level.label for level in factor.levels)
            replace = f", or replace the levels: ablate --vary {factor.name}=VALUE,..." if factor.keys == [factor.name] else ""
            raise UsageError(
                f"`{key}` is varied by the factor `{factor.name}` ({labels}), so the value given has no effect; leave it out{replace}"
            )


def _seeds(value: Any) -> tuple[int, ...]:
    numbers = range(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(numbers, (Sequence, range)) or not numbers or not all(isinstance(seed, int) and seed >= 0 for seed in numbers):
        raise UsageError(f"seeds: {value!r} is neither a number of seeds nor a list of seeds")
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"seeds: a seed is given twice in {list(numbers)}; remove one")
    return tuple(numbers)


def _tasks(value: Any) -> list[Task]:
    """Return tasks for names, paths, tables or tasks."""
    return [task_of(item) for item in listed(value)]


def task_of(value: Any) -> Task:
    """Return the task of a level's value: a name, a path, a table or a task."""
    if isinstance(value, Mapping):
        return cast("Task", build_component("task", value, "tasks"))
    if not isinstance(value, (str, Path, Task)):
        raise UsageError(f"tasks: must be the name or path of a data set, or a table with a `name`, not {value!r}")
    return find_tasks(value)[0]
