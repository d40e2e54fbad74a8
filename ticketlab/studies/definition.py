"""The definition of a study: what is varied, over which recipes, tasks and seeds, and what its report shows; read from TOML."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from attrs import evolve, field, frozen

from ticketlab.core import files
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.settings import build_component
from ticketlab.recipes.overrides import find_tasks, task_tables
from ticketlab.recipes.tables import merge, text_of
from ticketlab.studies.hypothesis_tables import read_hypotheses
from ticketlab.studies.levels import FactorLevels, Level, check_factor, factor_of, label_of, numeric, plain_value
from ticketlab.tasks.base import Task

GRID, ONE_AT_A_TIME = "grid", "one-at-a-time"
DESIGNS = (GRID, ONE_AT_A_TIME)
KEYS = (
    *("summary", "paper", "recipes", "tasks", "model", "scale", "seeds", "until", "design", "baseline", "set", "vary", "factors"),
    *("exclude", "scales", "hypotheses", "table", "figures", "published", "differences", "notes"),
)
"""The top-level keys of a study file."""
FILE_KEYS = ("recipes", "vary", "factors", "design")
"""Keys that tell a study file from a recipe."""
ABOUT_LEVEL = ("unavailable", "plugin")
"""Keys of a level that are no settings, besides its label."""
KEY_NAMES = {"attacks": "attack", "examples": "n"}
"""Arguments of :func:`ticketlab.compose` whose flag has another name."""
RECIPE, TASK = "recipe", "task"
DEFAULT_RECIPE = "ticket"
SELECTING = ("recipes", "tasks", "design", "vary", "factors", "exclude")
"""Keys that decide which cells a study has; what they measure is decided by its settings, too."""
PERCENT = 100


def _seeds(value: Any) -> tuple[int, ...]:
    numbers = range(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(numbers, (Sequence, range)) or not numbers or not all(isinstance(seed, int) and seed >= 0 for seed in numbers):
        raise UsageError(f"seeds: {value!r} is neither a number of seeds nor a list of seeds")
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"seeds: a seed is given twice in {list(numbers)}")
    return tuple(numbers)


@frozen(kw_only=True)
class Study:
    """A study. ``settings`` apply to every cell whose recipe has them; ``factors`` include recipe and task if there are several.

    ``exclude`` lists combinations of levels to leave out, by factor; ``baseline`` is the label of a cell or of a level of the first factor.
    ``until`` names the last stage to compute, with those that it is computed from; empty for all. ``report`` has the tables ``hypotheses``,
    ``table``, ``figures``, ``published`` and ``differences`` of the file, which change no result. ``source`` is the file, if there is one,
    for error messages. ``reduced``: a scale or the command line has replaced some of the file's cells, so that hypotheses may be about
    others.
    """

    name: str
    recipe: str = DEFAULT_RECIPE
    tasks: tuple[Task, ...] = ()
    scale: str | None = None
    seeds: tuple[int, ...] | None = None
    design: str = GRID
    baseline: str = ""
    until: str = ""
    settings: Mapping[str, Any] = field(factory=dict)
    factors: tuple[FactorLevels, ...] = ()
    exclude: tuple[Mapping[str, Sequence[str]], ...] = ()
    summary: str = ""
    paper: str = ""
    report: Mapping[str, Any] = field(factory=dict)
    source: str = field(default="", eq=False)
    reduced: bool = field(default=False, eq=False)

    def to_table(self) -> dict[str, Any]:
        """Return the study as plain values, which :func:`study_of` accepts."""
        table: dict[str, Any] = {"summary": self.summary, "paper": self.paper, "recipes": [self.recipe], "design": self.design}
        table |= {"tasks": task_tables(self.tasks)} if self.tasks else {}
        table |= {"scale": self.scale} if self.scale else {}
        table |= {"seeds": list(self.seeds)} if self.seeds else {}
        table |= {"baseline": self.baseline} if self.baseline else {}
        table |= {"until": self.until} if self.until else {}
        table["set"] = {key: _plain(value) for key, value in self.settings.items()}
        table["factors"] = [
            {
                "name": factor.name,
                "levels": [
                    {"label": level.label}
                    | {key: value for key in ABOUT_LEVEL if (value := getattr(level, key))}
                    | {key: _plain(value) for key, value in level.settings.items()}
                    for level in factor.levels
                ],
            }
            for factor in self.factors
        ]
        table["exclude"] = [{name: list(labels) for name, labels in excluded.items()} for excluded in self.exclude]
        return {**{key: value for key, value in table.items() if value not in ("", {}, [])}, **self.report}

    def digest(self) -> str:
        """Return the sha256 of everything that decides which cells the study has, however it is written: as text, TOML or Python values."""
        told = ("summary", "paper", "baseline", *self.report)
        table = {key: _canonical(value) for key, value in self.to_table().items() if key not in told}
        return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


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
    scales = _table(whole.pop("scales", {}), "scales")
    chosen = changes.pop("scale", None) or scale or whole.get("scale")
    whole.pop("scale", None)
    if chosen and chosen in scales:
        whole = merge(whole, _table(scales[chosen], f"scales.{chosen}"))
        chosen = whole.pop("scale", chosen)
    may_be_gone = changes.get("exclude") is None and bool(chosen in scales or factors_added)
    own_settings = _table(changes.get("set") or {}, "set").keys() - {"model"}
    reduced = bool(chosen in scales or factors_added or own_settings or any(changes.get(key) for key in SELECTING))
    settings = _settings(whole, changes)
    whole |= {key: value for key, value in changes.items() if value is not None and key not in ("set", "model")}
    recipes, tasks = _listed(whole.get("recipes", DEFAULT_RECIPE)), _tasks(whole.get("tasks", ()))
    if not recipes or not all(isinstance(recipe, (str, Path)) for recipe in recipes):
        raise UsageError(f"recipes: must be the name or file of a recipe, or a list of them, not {whole['recipes']!r}")
    factors = [_factor(table) for table in _tables(whole.get("factors", ()), "factors")]
    factors += [factor_of(key, values, f"vary.{key}") for key, values in _table(whole.get("vary", {}), "vary").items()]
    factors = _with_added(factors, factors_added)
    factors = _with_several(RECIPE, recipes, factors)
    factors = _with_several(TASK, tasks, factors)
    names = [factor.name for factor in factors]
    if len(set(names)) < len(names):
        raise UsageError(f"the factor `{next(name for name in names if names.count(name) > 1)}` is given twice")
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
        exclude=_exclusions(_tables(whole.get("exclude", ()), "exclude"), factors, may_be_gone=may_be_gone),
        summary=str(whole.get("summary", "")),
        paper=str(whole.get("paper", "")),
        report=_report(whole),
        reduced=reduced,
    )


def _report(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a report shows: the keys of a study that change no result. Hypotheses are in a uniform form."""
    found = {key: table[key] for key in ("hypotheses", "table", "figures", "published", "differences", "notes") if key in table}
    if "hypotheses" in found:
        found["hypotheses"] = [one.to_table() for one in read_hypotheses(_tables(found["hypotheses"], "hypotheses"))]
    return found


def _settings(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of all cells: those of the table, its model included, with those of the changes over them."""
    found: dict[str, Any] = {}
    for source in (table, changes):
        found |= {key: plain_value(value, f"set.{key}") for key, value in _table(source.get("set") or {}, "set").items()}
        found |= {"model": str(source["model"])} if source.get("model") is not None else {}
    return found


def _table(value: Any, where: str) -> Mapping[str, Any]:
    """Return a value that must be a table.

    :raises UsageError: it is not one.
    """
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: must be a table, not {value!r}")
    return value


def _tables(value: Any, where: str) -> Sequence[Mapping[str, Any]]:
    """Return a value that must be a list of tables.

    :raises UsageError: it is not one.
    """
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"{where}: must be a list of tables ([[{where}]] in TOML), not {value!r}")
    return [_table(item, where) for item in value]


def _with_several(name: str, values: Sequence[Any], factors: list[FactorLevels]) -> list[FactorLevels]:
    """Return the factors, with one for several recipes or tasks first, unless a factor varies them already."""
    if len(values) < 2 or any(name in factor.keys for factor in factors):
        return factors
    levels = [Level(label_of(value), {name: value}) for value in values]
    labels = [level.label for level in levels]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"two {name}s have the name `{twice}`, by which results are reported; rename the file or folder of one of them")
    return [FactorLevels(name, tuple(levels)), *factors]


def _with_added(factors: Sequence[FactorLevels], added: Sequence[FactorLevels]) -> list[FactorLevels]:
    """Return the factors with those of the same names replaced and the other ``added`` ones at the end."""
    by_name = {factor.name: factor for factor in added}
    replaced = [by_name.pop(factor.name, factor) for factor in factors]
    return [*replaced, *by_name.values()]


def _factor(table: Mapping[str, Any]) -> FactorLevels:
    """Return the factor of a ``[[factors]]`` table."""
    if not table.get("name") or not table.get("levels"):
        raise UsageError("factors: each needs a `name` and `levels`")
    name = str(table["name"])
    if not isinstance(table["levels"], (list, tuple)):
        raise UsageError(f"factors.{name}: levels: must be a list, not {table['levels']!r}")
    levels = []
    for level in table["levels"]:
        if not isinstance(level, Mapping):
            levels.append(Level(label_of(level), {name: plain_value(level, f"factors.{name}")}))
            continue
        settings = {key: plain_value(value, f"factors.{name}.{key}") for key, value in level.items() if key not in ("label", *ABOUT_LEVEL)}
        label = str(level.get("label") or "+".join(label_of(value) for value in settings.values()))
        levels.append(Level(label, settings, **_about(level, f"factors.{name}: {label}")))
    return check_factor(FactorLevels(name, tuple(levels)), f"factors.{name}")


def _about(level: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return the keys of a level that are no settings.

    :raises UsageError: one is not a text, or empty; or the level has several of them.
    """
    found = {key: level[key] for key in ABOUT_LEVEL if key in level}
    for key, value in found.items():
        if not isinstance(value, str) or not value:
            raise UsageError(f"{where}: {key}: must be a text, not {value!r}")
    if len(found) > 1:
        raise UsageError(f"{where}: has both `unavailable` and `plugin`; remove `unavailable` if the plugin can compute it")
    return found


def _exclusions(
    tables: Sequence[Mapping[str, Any]], factors: Sequence[FactorLevels], *, may_be_gone: bool
) -> tuple[Mapping[str, Sequence[str]], ...]:
    """Return exclusions with checked names: the labels to leave out by factor.

    With ``may_be_gone``, a scale or the command line may have replaced levels of a file: those that the study no longer has are ignored.
    """
    by_name = {factor.name: [level.label for level in factor.levels] for factor in factors}
    found = []
    for table in tables:
        labels = {name: [label_of(item) for item in _listed(value)] for name, value in table.items()}
        for name, unknown in ((name, label) for name, wanted in labels.items() for label in wanted if label not in by_name.get(name, ())):
            if name not in by_name:
                raise UsageError(f"exclude: there is no factor `{name}`{did_you_mean(name, by_name)}")
            if not may_be_gone:
                raise UsageError(f"exclude: the factor `{name}` has no level `{unknown}`{did_you_mean(unknown, by_name[name])}")
        known = {name: [label for label in wanted if label in by_name[name]] for name, wanted in labels.items()}
        if all(known.values()):
            found.append(known)
    return tuple(found)


def parse_exclude(text: str) -> dict[str, list[str]]:
    """Return the exclusion of ``KEY=VALUE KEY=VALUE`` (or separated by ``&``); several values of a key are separated by ``|``.

    Keys and values may have spaces inside: a new part begins after ``&``, or after a space if a ``KEY=`` without spaces follows.

    :raises UsageError: a part is not KEY=VALUE.
    """
    found: dict[str, list[str]] = {}
    for part in re.split(r"\s*&\s*|\s+(?=[^\s=&]+=)", text.strip()):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not key or not value:
            raise UsageError(f"--exclude {text}: write FACTOR=LEVEL&FACTOR=LEVEL, such as pruner=random&adversary=freelb")
        found[key] = [label.strip() for label in value.split("|")]
    return found


def _tasks(value: Any) -> list[Task]:
    """Return tasks for names, paths, tables or tasks."""
    return [_task(item) for item in _listed(value)]


def _task(value: Any) -> Task:
    if isinstance(value, Mapping):
        return cast("Task", build_component("task", value, "tasks"))
    if not isinstance(value, (str, Path, Task)):
        raise UsageError(f"tasks: must be the name or path of a data set, or a table with a `name`, not {value!r}")
    return find_tasks(value if isinstance(value, Task) else str(value))[0]


def task_of(value: Any) -> Task:
    """Return the task of a level's value: a name, a path, a table or a task."""
    return _task(value)


def texts_of(value: Any) -> Iterable[Any]:
    """Return the texts of ``notes`` or ``differences``: a text, a list, or a table whose values they are."""
    return value.values() if isinstance(value, Mapping) else [value] if isinstance(value, str) else value


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _canonical(value: Any) -> Any:
    """Return a value as plain values in which ``"0.5"`` is 0.5, ``"true"`` is True, ``attacks`` is ``attack`` and ``["a"]`` is ``"a"``."""
    if isinstance(value, Mapping):
        return {KEY_NAMES.get(str(key), str(key).replace("_", "-")): _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return _canonical(value[0]) if len(value) == 1 else [_canonical(item) for item in value]
    if isinstance(value, str):
        number = numeric(value)
        return {"true": True, "false": False}.get(value, value) if number is None else number
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _plain(value: Any) -> Any:
    """Return a value as TOML and JSON can hold it."""
    if isinstance(value, Task):
        return task_tables([value])[0]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
