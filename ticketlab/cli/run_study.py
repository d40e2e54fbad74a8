"""Code shared by the commands that run a study: its plan, its table, its files and its exit status."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ticketlab.cli import output
from ticketlab.core import disk_and_memory, progress
from ticketlab.core.errors import EXIT_FAILED, EXIT_PARTIAL
from ticketlab.core.formatting import counted

if TYPE_CHECKING:
    from ticketlab.executors.base import Executor
    from ticketlab.studies.definition import Study
    from ticketlab.studies.division import Unit
    from ticketlab.studies.hypotheses import PlannedHypothesis
    from ticketlab.studies.part import Part
    from ticketlab.studies.plan import Plan, PlannedCell
    from ticketlab.studies.study import PartRun, StudyRun

MAX_CELLS = 60
"""The number of cells that a plan lists on a terminal; `--json` has all."""


def print_plan(study: Study, lab: Path, *, jobs: int | None, executor: Executor, part: Part | None, as_json: bool) -> None:
    """Print the cells of a study on stdout, and on stderr its stages and what they are expected to cost. Nothing is computed.

    With a part, print which tasks and seeds of which cells are its own, and the cost of the stages that it needs.
    """
    import os

    os.environ["HF_HUB_OFFLINE"] = "1"  # must be set before huggingface_hub is imported
    from ticketlab.studies.division import only_units, units_of_part
    from ticketlab.studies.estimate import describe_estimate, estimate
    from ticketlab.studies.plan import plan_study
    from ticketlab.studies.planned_inputs import PlannedInputs
    from ticketlab.studies.study import describe_plan
    from ticketlab.studies.threads import threads_of_a_stage

    inputs = PlannedInputs()
    with threads_of_a_stage(executor, jobs):
        plan = plan_study(study, lab, inputs)
    units = None if part is None else units_of_part(plan, part)
    own = plan if units is None else only_units(plan, units)
    found = estimate(own)
    if as_json:
        of_part = {} if units is None else {"part": _part_table(str(part), units, own)}
        output.print_json(_plan_table(plan) | of_part | {"to_compute": found.stages, "seconds": found.seconds, "bytes": found.bytes})
    else:
        _print_lines([_cell_line(plan, cell) for cell in plan.cells] if units is None else _unit_lines(plan, units))
        for planned in _hypotheses(plan):
            output.print_line(f"hypothesis `{planned.hypothesis.claim}`: {planned.hypothesis.comparison}: {planned.outlook}")
    for missing in inputs.missing:
        progress.say(f"note: {missing}")
    if inputs.missing:
        progress.say("note: what is missing is identified by its name, so its stages are not looked up in the lab")
    progress.say(describe_plan(plan))
    if units is not None:
        progress.say(f"part {part}: {counted(len(units), 'unit')} (a task and seed of a cell), {counted(len(own.stages), 'stage')}")
    for line in describe_estimate(found):
        progress.say(line)


def _print_lines(lines: Sequence[str]) -> None:
    for line in lines[:MAX_CELLS]:
        output.print_line(line)
    if len(lines) > MAX_CELLS:
        output.print_line(f"... and {len(lines) - MAX_CELLS} more (--json lists all)")


def _unit_lines(plan: Plan, units: Sequence[Unit]) -> list[str]:
    """Return a line for each cell that has units of a part, with their tasks and seeds."""
    of_cells: dict[int, dict[str, list[int]]] = {}
    for unit in units:
        of_cells.setdefault(unit.cell, {}).setdefault(unit.task, []).append(unit.seed)
    return [
        f"{plan.cells[number].cell.label}: {'; '.join(_seeds_text(task, seeds) for task, seeds in tasks.items())}"
        for number, tasks in sorted(of_cells.items())
    ]


def _seeds_text(task: str, seeds: Sequence[int]) -> str:
    return f"{task} {'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, sorted(seeds)))}"


def _part_table(part: str, units: Sequence[Unit], own: Plan) -> dict[str, Any]:
    return {
        "part": part,
        "units": [{"cell": unit.cell, "task": unit.task, "seed": unit.seed} for unit in units],
        "stages": list(own.stages),
    }


def _cell_line(plan: Plan, cell: PlannedCell) -> str:
    if cell.error:
        return f"{cell.cell.label}: cannot be computed: {cell.error}"
    same = f": the same stages as {plan.cells[cell.same_as].cell.label}" if cell.same_as is not None else ""
    without = f" (without effect: {', '.join(cell.cell.inapplicable)})" if cell.cell.inapplicable else ""
    recipe = cell.cell.recipe
    assert recipe is not None
    return f"{cell.cell.label}{without}{same or f': {recipe.name}, ' + counted(len(set(cell.keys.values())), 'stage')}"


def _hypotheses(plan: Plan) -> list[PlannedHypothesis]:
    """Return the hypotheses of a plan, with what can be expected of them."""
    from ticketlab.studies.hypotheses import planned_hypotheses

    errors = {cell.cell.label: cell.error for cell in plan.cells}
    same = {cell.cell.label: plan.cells[cell.same_as].cell.label for cell in plan.cells if cell.same_as is not None}
    return list(planned_hypotheses(plan.study, [cell.cell for cell in plan.cells], errors, same))


def _plan_table(plan: Plan) -> dict[str, Any]:
    from ticketlab.studies.plan import inapplicable_factors

    without = inapplicable_factors(plan.study, plan.cells)
    return {
        "cells": [
            {
                "label": cell.cell.label,
                "levels": {name: level.label for name, level in cell.cell.levels.items()},
                "recipe": cell.cell.recipe.name if cell.cell.recipe else None,
                "stages": list(dict.fromkeys(cell.keys.values())),
                "same_as": None if cell.same_as is None else plan.cells[cell.same_as].cell.label,
                "inapplicable": list(without[number]),
                "error": cell.error,
            }
            for number, cell in enumerate(plan.cells)
        ],
        "stages": [
            {"key": key, "title": planned.title, "kind": planned.stage.name, "needs": list(planned.needs), "cells": planned.cells}
            for key, planned in plan.stages.items()
        ],
        "hypotheses": [
            {
                **planned.hypothesis.to_table(),
                "pairs": [list(pair) for pair in planned.pairs],
                "decidable": planned.decidable,
                "outlook": planned.outlook,
            }
            for planned in _hypotheses(plan)
        ],
    }


def run(
    study: Study,
    lab: Path,
    *,
    jobs: int | None,
    executor: Executor,
    part: Part | None,
    name: str | None,
    as_json: bool,
    csv_file: Path | None,
) -> None:
    """Run a study or a part of it, print its table on stdout, and exit with 3 if some of its cells failed, with 1 if all did."""
    disk_and_memory.check_limit()
    from ticketlab.studies.study import run_study

    done = run_study(study, lab, jobs=jobs, executor=executor, part=part, name=name, check=lambda plan: _check_csv(csv_file, plan))
    print_results(done, as_json=as_json)
    progress.say(f"study: {done.directory} ({counted(done.computed, 'stage')} computed)")
    if done.part is not None:
        progress.say(_part_line(done.part))
    progress.say(f"report: ticketlab report {done.directory} --out report.html")
    cells = [cell for cell in done.comparison.cells if not cell.unavailable]
    failed = [cell for cell in cells if cell.error and (done.part is None or cell.label in done.part.failed)]
    for cell in failed:
        progress.warn(f"{cell.label}: {cell.error}")
    if failed:
        progress.warn(f"{counted(len(failed), 'cell')} of {len(cells)} failed; the same command tries them again")
    if csv_file is not None:
        from ticketlab.report.numbers_file import write_numbers

        write_numbers(done.comparison, csv_file)
    if failed:
        context = click.get_current_context()
        context.exit(EXIT_FAILED if len(failed) == len(cells) else EXIT_PARTIAL)


def _check_csv(csv_file: Path | None, plan: Plan) -> None:
    """Check, before anything is computed, that the file of numbers does not hold the numbers of other runs.

    :raises UsageError: it holds them.
    """
    from ticketlab.report.numbers_file import check_runs, has_content

    if csv_file is not None and has_content(csv_file):
        from ticketlab.runs.run import directory_name_of

        check_runs(csv_file, {directory_name_of(cell.inputs, plan.lab.root) for cell in plan.cells if cell.inputs is not None})


def _part_line(done: PartRun) -> str:
    left = f"the lab still lacks {counted(done.left, 'stage')} of the study" if done.left else "the lab has all stages of the study"
    return f"part {done.part}: it needs {counted(done.stages, 'stage')}; {left}"


def print_results(done: StudyRun, *, as_json: bool) -> None:
    """Print the table of a study, or its cells with their numbers as JSON."""
    from ticketlab.core import files
    from ticketlab.lab.layout import CELLS
    from ticketlab.report.table_json import json_verdicts

    if as_json:
        numbers = [
            {"cell": one.cell, "task": one.task, "seed": one.seed, "stage": one.stage, "metric": one.metric, "value": one.value, "n": one.n}
            for one in done.numbers()
            if one.step is None
        ]
        part, of_part = done.part, {}
        if part is not None:
            of_part = {"part": {"part": str(part.part), "stages": part.stages, "computed": done.computed, "left": part.left}}
        decided = json_verdicts(done.verdicts())
        own = {"verdicts": decided} if decided else {}
        output.print_json({**files.read_json(done.directory / CELLS), **of_part, "numbers": numbers, **own})
        return
    if done.part is not None and not any(cell.results for cell in done.comparison.cells):
        output.print_line("no cell is complete yet")
        return
    from ticketlab.report.compared_table import compared_table
    from ticketlab.report.table_text import print_table

    print_table(compared_table(done.comparison), output.open_console())
