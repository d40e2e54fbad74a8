"""The plan of a study: the distinct stages of all cells, each with the stages that it needs and the cells that need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from ticketlab.backbone.device import pick_precision
from ticketlab.core import progress
from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.core.references import split_checkpoint
from ticketlab.lab.lab import Lab
from ticketlab.lab.open_lab import open_lab
from ticketlab.recipes import ineffective_settings
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs import preflight
from ticketlab.runs.input_cache import InputCache
from ticketlab.runs.run_inputs import RunInputs, check_run_inputs, load_run_inputs
from ticketlab.runs.stage_cache import ResolvedStage, threads_in_key
from ticketlab.runs.stage_key import StageKeys
from ticketlab.runs.stages_of_run import stages_of_run
from ticketlab.stages.base import Stage
from ticketlab.studies.cell_recipe import compose_cells
from ticketlab.studies.definition import Study
from ticketlab.studies.hypotheses import with_checked_hypotheses
from ticketlab.studies.planned_inputs import PlannedInputs, PlannedStageKeys
from ticketlab.studies.study_cell import StudyCell
from ticketlab.tasks.base import Task

Role = tuple[str, int, str]
"""What a stage is in a cell: its task, seed and name."""


@define
class PlannedStage:
    """A distinct stage of a study. ``cell``, ``task``, ``seed`` and ``name`` are those of its first use.

    ``needs`` are the keys of the stages whose outputs it takes, ``keep`` the checkpoints that stages of any cell start from, and ``cells``
    the cells that use it, by position.
    """

    key: str
    cell: int
    task: Task
    seed: int
    name: str
    stage: Stage
    needs: tuple[str, ...]
    keep: set[str] = field(factory=set)
    cells: list[int] = field(factory=list)

    @property
    def title(self) -> str:
        """``sst2 seed 0 finetune``."""
        return f"{self.task.label} seed {self.seed} {self.name}"


@frozen
class PlannedCell:
    """A cell with its loaded inputs and the keys of its stages, by task, seed and stage; or the ``error`` why it cannot be planned.

    ``same_as`` is the position of the earlier cell whose stages are all the same.
    """

    cell: StudyCell
    inputs: RunInputs | None = None
    keys: Mapping[Role, str] = field(factory=dict)
    error: str = ""
    same_as: int | None = None


@frozen
class Plan:
    """The cells of a study and their distinct stages, in an order in which each comes after those that it needs."""

    study: Study
    lab: Lab
    cells: Sequence[PlannedCell]
    stages: Mapping[str, PlannedStage]

    def users(self) -> int:
        """Return how many stages the cells would compute if they shared none."""
        return sum(len(cell.keys) for cell in self.cells)


def plan_study(study: Study, lab: str | Path, inputs: InputCache | None = None) -> Plan:
    """Return the plan of a study. Loads, checks and reports data, and computes nothing.

    With :class:`PlannedInputs` it may have inputs that this machine lacks; cells that need them are not checked.

    :raises UsageError: the study has no task; its baseline is unknown; a hypothesis is about what no cell has or measures; a factor has no
        effect on any cell; or no cell can be planned.
    """
    composed = compose_cells(study)
    for cell in composed:
        if cell.recipe is not None and not cell.recipe.tasks:
            raise UsageError("no task given: use --task with a name (`ticketlab show task` lists them) or a path")
    study = with_checked_hypotheses(study, composed)
    inputs = InputCache() if inputs is None else inputs
    keys = PlannedStageKeys(inputs=inputs) if isinstance(inputs, PlannedInputs) else StageKeys()
    planner = _Planner(open_lab(lab), inputs, keys=keys)
    with progress.each_once():
        cells = [planner.add(number, cell) for number, cell in enumerate(composed)]
    _check_effects(study, cells)
    failed = [cell.error for cell in cells if cell.error and not cell.cell.error]
    if failed and not any(cell.keys for cell in cells):
        raise UsageError(failed[0])
    return Plan(study, planner.lab, cells, planner.stages)


def plan_run(inputs: RunInputs, lab: Lab) -> Plan:
    """Return the plan of a run whose inputs have been loaded and checked: a study of one cell."""
    planner, recipe = _Planner(lab, InputCache()), inputs.recipe
    keys = planner.keys_of(0, recipe, inputs)
    return Plan(Study(name=recipe.name), lab, [PlannedCell(StudyCell(recipe.name, {}, recipe), inputs, keys)], planner.stages)


@define
class _Planner:
    lab: Lab
    inputs: InputCache
    stages: dict[str, PlannedStage] = field(factory=dict)
    keys: StageKeys = field(factory=StageKeys)
    threads: int = field(factory=threads_in_key)
    _signatures: dict[int, tuple[Stage, preflight.Signature]] = field(factory=dict)
    _folders: dict[str, Path] = field(factory=dict)
    _loaded: dict[tuple[Any, ...], RunInputs] = field(factory=dict)
    _same: dict[frozenset[tuple[Role, str]], int] = field(factory=dict)

    def add(self, number: int, cell: StudyCell) -> PlannedCell:
        """Plan a cell. Everything that is wrong with its inputs becomes its error."""
        if cell.recipe is None:
            return PlannedCell(cell, error=cell.error)
        try:
            loaded = self._load(cell.recipe)
            keys = self.keys_of(number, cell.recipe, loaded)
        except TicketlabError as problem:
            return PlannedCell(cell, error=str(problem))
        first = self._same.setdefault(_identity(keys), number)
        return PlannedCell(cell, loaded, keys, same_as=None if first == number else first)

    def _load(self, recipe: Recipe) -> RunInputs:
        """Load the inputs of a recipe, and check them unless a recipe that gives the same checks has been checked."""
        preflight.check_precision(recipe)
        name = (recipe.model, recipe.train_rows, preflight.signature(recipe, self._signatures))
        if name not in self._loaded:
            loaded = load_run_inputs(recipe, self.inputs)
            if isinstance(self.inputs, PlannedInputs):
                loaded = self.inputs.check(loaded)
            else:
                preflight.check_resources(recipe)
                loaded = check_run_inputs(loaded)
                loaded.report()
            self._loaded[name] = loaded
        return evolve(self._loaded[name], recipe=recipe)

    def keys_of(self, number: int, recipe: Recipe, loaded: RunInputs) -> dict[Role, str]:
        """Add the stages of a cell to the plan, and return their keys."""
        keys: dict[Role, str] = {}
        precision = pick_precision(recipe.precision)
        for stage in stages_of_run(loaded, self._folder, precision, keys=self.keys, threads=self.threads):
            self._add_stage(number, stage.task, stage.recipe, stage.seed, stage.name, stage.resolved, stage.earlier)
            keys[stage.task.label, stage.seed, stage.name] = stage.resolved.key
        return keys

    def _folder(self, key: str) -> Path:
        if key not in self._folders:
            self._folders[key] = self.lab.stage(key)
        return self._folders[key]

    def _add_stage(
        self, number: int, task: Task, part: Recipe, seed: int, name: str, resolved: ResolvedStage, earlier: Mapping[str, tuple[str, Path]]
    ) -> None:
        stage = part.stages[name]
        planned = self.stages.get(resolved.key)
        if planned is None:
            named = [split_checkpoint(value)[0] for value in self.keys.facts(stage).references.values()]
            needs = tuple(dict.fromkeys(earlier[other][0] for other in named if other in earlier))
            planned = self.stages[resolved.key] = PlannedStage(resolved.key, number, task, seed, name, stage, needs)
        planned.keep.update(resolved.keep)
        if not planned.cells or planned.cells[-1] != number:
            planned.cells.append(number)


def _check_effects(study: Study, cells: Sequence[PlannedCell]) -> None:
    """Refuse a factor whose levels give the same stages in every cell.

    :raises UsageError: there is one; the message has the reason.
    """
    for factor in study.factors:
        groups = _groups(cells, factor.name)
        comparable = [group for group in groups if len(group) > 1]
        if comparable and all(len({_identity(cell.keys) for cell in group}) == 1 for group in comparable):
            labels = ", ".join(level.label for level in factor.levels)
            reason = _reason(comparable[0][-1].cell, factor.keys)
            raise UsageError(f"`{factor.name}` has no effect on any cell: {labels} give the same stages{reason}; remove the factor")


def inapplicable_factors(study: Study, cells: Sequence[PlannedCell]) -> list[tuple[str, ...]]:
    """Return, for each cell, the factors that have no effect on it: those that its recipe lacks, and those whose levels all give it."""
    found: list[dict[str, None]] = [{} for _ in cells]
    position = {id(cell): number for number, cell in enumerate(cells)}
    for factor in study.factors:
        for number, cell in enumerate(cells):
            settings = cell.cell.levels[factor.name].settings
            if settings and all(key in cell.cell.inapplicable for key in settings):
                found[number][factor.name] = None
        for group in _groups(cells, factor.name):
            if len(group) > 1 and len({_identity(cell.keys) for cell in group}) == 1:
                for cell in group:
                    found[position[id(cell)]][factor.name] = None
    return [tuple(names) for names in found]


def _groups(cells: Sequence[PlannedCell], factor: str) -> list[list[PlannedCell]]:
    """Return the planned cells in groups that differ in one factor only."""
    groups: dict[tuple[str, ...], list[PlannedCell]] = {}
    for cell in cells:
        if cell.keys:
            others = tuple(level.label for name, level in cell.cell.levels.items() if name != factor)
            groups.setdefault(others, []).append(cell)
    return list(groups.values())


def _identity(keys: Mapping[Role, str]) -> frozenset[tuple[Role, str]]:
    """Return what is equal of cells that are the same: the key of each stage by its role, since results are reported by it."""
    return frozenset(keys.items())


def _reason(cell: StudyCell, keys: Sequence[str]) -> str:
    """Return why settings have no effect on a cell, as text to append; empty if unknown."""
    assert cell.recipe is not None
    endings = {key.rpartition(".")[2].rpartition("-")[2] for key in keys}
    for name in cell.recipe.stages:
        for path, unused in ineffective_settings.ineffective_settings(cell.recipe, name).items():
            if path.rpartition(".")[2] in endings:
                return f" ({name}: {unused.reason})"
    return ""
