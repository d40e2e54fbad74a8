"""Composes the recipe of each cell of a study from the study's settings and the cell's levels."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, cast

from attrs import field, frozen

from ticketlab.core.errors import UsageError
from ticketlab.core.settings import shared_instances
from ticketlab.lab.finished_models import resolve
from ticketlab.recipes.compose import Base, apply_to, read_base
from ticketlab.recipes.overrides import Overrides, task_tables
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.tables import as_toml
from ticketlab.studies import cell_checks
from ticketlab.studies.definition import RECIPE, TASK, Study
from ticketlab.studies.design import Combination, cell_label, combinations, unavailable
from ticketlab.studies.keys import SCALE, WHOLE, argument_of, check_key, depth_of, has_key, inner_keys, stage_flag
from ticketlab.studies.read_definition import task_of
from ticketlab.studies.study_cell import StudyCell

NUMBERS = ("max_length", "epochs", "lr", "batch_size", "examples")
"""Arguments of :func:`ticketlab.compose` that are numbers, and not fractions, which may be text."""
FLAG = re.compile(r"^--(set )?")
"""Begins the messages about an option of ``ticketlab run``; a study names the same key in a file, in ``--vary`` or in an argument."""


def compose_cells(study: Study) -> list[StudyCell]:
    """Return the cells of a study with their recipes.

    A key that a cell's recipe does not have is inapplicable to the cell; one that no cell's recipe has is an error, as is a level that no
    recipe accepts.

    :raises UsageError: see above; or the study has no task. The message begins with the file of the study, if it has one.
    """
    try:
        return _checked_cells(study)
    except UsageError as problem:
        raise UsageError(f"{study.source}: {problem}" if study.source else str(problem)) from None


def _checked_cells(study: Study) -> list[StudyCell]:
    for key in (*study.settings, *(key for factor in study.factors for key in factor.keys)):
        check_key(key)
    cell_checks.check_varied_once(study)
    composer = _Composer(study)
    with shared_instances():
        cells = [composer.cell(combination) for combination in combinations(study)]
        cell_checks.check_keys(study, cells, composer.problem)
        cell_checks.check_replaced(study, cells, composer.without)
    cell_checks.check_levels(study, cells)
    cell_checks.check_baseline(study, cells)
    return cells


@frozen
class _Composer:
    """Composes cells; cells that differ only in inapplicable keys share a recipe."""

    study: Study
    composed: dict[str, Recipe | UsageError] = field(factory=dict)
    bases: dict[str, Base] = field(factory=dict)

    def cell(self, combination: Combination) -> StudyCell:
        label = cell_label(combination)
        if reason := unavailable(combination):
            return StudyCell(label, combination, error=reason)
        settings = self._settings(combination)
        try:
            return StudyCell(label, combination, self._compose(settings))
        except UsageError as problem:
            error = str(problem)
        left_out: list[str] = []
        try:
            applicable, left_out = self._applicable(settings)
            if left_out:
                return StudyCell(label, combination, self._compose(applicable), inapplicable=tuple(left_out))
        except UsageError as problem:
            error = str(problem)
        return StudyCell(label, combination, error=error, inapplicable=tuple(left_out))

    def problem(self, cell: StudyCell, key: str) -> str:
        """Return why a key is inapplicable to a cell: the message of its recipe about the key; empty if it has none."""
        settings = {name: value for name, value in self._settings(cell.levels).items() if name == key or name not in cell.inapplicable}
        try:
            self._compose(settings)
        except UsageError as problem:
            return str(problem)
        return ""

    def without(self, cell: StudyCell, keys: Collection[str]) -> Recipe | None:
        """Return the recipe of a cell without some of its keys, except :data:`WHOLE`; None if it cannot be composed."""
        left_out = {*keys, *cell.inapplicable} - {*WHOLE}
        try:
            return self._compose({key: value for key, value in self._settings(cell.levels).items() if key not in left_out})
        except UsageError:
            return None

    def _settings(self, combination: Combination) -> dict[str, Any]:
        """Return the value of each key, those of components before those of their settings; levels replace the study's settings."""
        found = {RECIPE: self.study.recipe, **self.study.settings}
        for level in combination.values():
            for key, value in level.settings.items():
                for replaced in (f"{key}.{inner}" for inner in inner_keys(key, value)):
                    found.pop(replaced, None)
                found[key] = value
        return {key: found[key] for key in sorted(found, key=depth_of)}

    def _applicable(self, settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return the settings that the recipe has, and the keys of the others.

        Keys are tried in the order of :meth:`_settings`, so that ``search.pruner.penalty`` is looked for in the pruner that ``pruner``
        chooses.
        """
        kept = {key: value for key, value in settings.items() if key in WHOLE}
        left_out = []
        for key in (key for key in settings if key not in WHOLE):
            if has_key(self._compose(kept), key):
                kept[key] = settings[key]
            else:
                left_out.append(key)
        return {key: value for key, value in settings.items() if key in kept}, left_out

    def _compose(self, settings: Mapping[str, Any]) -> Recipe:
        name = json.dumps(settings, sort_keys=True, default=repr)
        if name not in self.composed:
            try:
                self.composed[name] = self._compose_new(_arguments(self.study, settings))
            except UsageError as problem:
                self.composed[name] = problem
        found = self.composed[name]
        if isinstance(found, UsageError):
            raise found
        return found

    def _compose_new(self, arguments: dict[str, Any]) -> Recipe:
        recipe, tasks, scale, seeds, sets = (arguments.pop(name) for name in ("recipe", "tasks", SCALE, "seeds", "sets"))
        name = json.dumps([recipe, task_tables(tasks), scale], default=repr)
        if name not in self.bases:
            self.bases[name] = read_base(recipe, tasks, scale)
        try:
            composed = apply_to(self.bases[name], seeds=seeds, sets=sets, overrides=cast("Overrides", arguments))
            return composed.until(self.study.until) if self.study.until else composed
        except UsageError as problem:
            raise UsageError(FLAG.sub("", str(problem))) from None


def _arguments(study: Study, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of :func:`ticketlab.compose` for the value of each key."""
    found: dict[str, Any] = {"tasks": study.tasks, SCALE: study.scale, "seeds": study.seeds, "sets": []}
    stages: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        name, flag = argument_of(key), stage_flag(key)
        if key == RECIPE:
            found["recipe"] = value
        elif key == TASK:
            found["tasks"] = [task_of(value)]
        elif key == SCALE:
            found[SCALE] = None if value == "full" else value
        elif name == "model":
            found[name] = resolve(str(value))
        elif name in Overrides.__annotations__:
            found[name] = _number(value) if name in NUMBERS else value
        elif flag is not None:
            stages.setdefault(flag[0], {})[flag[1]] = value
        else:
            found["sets"].append(f"{key}={value if isinstance(value, str) else as_toml(value)}")
    return found | ({"stages": stages} if stages else {})


def _number(value: Any) -> Any:
    """Return the number that a text stands for; other values as they are, for the setting to refuse."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value) if isinstance(value, str) else value
    return value
