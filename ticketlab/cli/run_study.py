"""Code shared by the commands that run a study: its plan, its table, its files and its exit status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ticketlab.cli import run_recipe
from ticketlab.core import disk_and_memory, progress
from ticketlab.core.errors import EXIT_FAILED, EXIT_PARTIAL
from ticketlab.core.formatting import counted

if TYPE_CHECKING:
    from ticketlab.studies.definition import Study
    from ticketlab.studies.plan import Plan, PlannedCell
    from ticketlab.studies.study import StudyRun

MAX_CELLS = 60
"""The number of cells that a plan lists on a terminal; `--json` has all."""


def print_plan(study: Study, lab: Path, *, jobs: int, as_json: bool) -> None:
    """Print the cells of a study on stdout, and on stderr its stages and what they are expected to cost. Nothing is computed."""
    import os

    os.environ["HF_HUB_OFFLINE"] = "1"  # must be set before huggingface_hub is imported
    from ticketlab.studies.estimate import describe_estimate, estimate
    from ticketlab.studies.plan import plan_study
    from ticketlab.studies.planned_inputs import PlannedInputs
    from ticketlab.studies.study import check_jobs, describe_plan, threads_of_a_job

    check_jobs(jobs)
    inputs = PlannedInputs()
    with threads_of_a_job(jobs):
        plan = plan_study(study, lab, inputs)
    found = estimate(plan)
    if as_json:
        run_recipe.print_json(_plan_table(plan) | {"to_compute": found.stages, "seconds": found.seconds, "bytes": found.bytes})
    else:
        for cell in plan.cells[:MAX_CELLS]:
            run_recipe.print_line(_cell_line(plan, cell))
        if len(plan.cells) > MAX_CELLS:
            run_recipe.print_line(f"... and {len(plan.cells) - MAX_CELLS} more cells (--json lists all)")
    for missing in inputs.missing:
        progress.say(f"note: {missing}")
    if inputs.missing:
        progress.say("note: what is missing is identified by its name, so its stages are not looked up in the lab")
    progress.say(describe_plan(plan))
    for line in describe_estimate(found):
        progress.say(line)


def _cell_line(plan: Plan, cell: PlannedCell) -> str:
    if cell.error:
        return f"{cell.cell.label}: cannot be computed: {cell.error}"
    same = f": the same stages as {plan.cells[cell.same_as].cell.label}" if cell.same_as is not None else ""
    without = f" (without effect: {', '.join(cell.cell.inapplicable)})" if cell.cell.inapplicable else ""
    recipe = cell.cell.recipe
    assert recipe is not None
    return f"{cell.cell.label}{without}{same or f': {recipe.name}, ' + counted(len(set(cell.keys.values())), 'stage')}"


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
    }


def run(study: Study, lab: Path, *, jobs: int, name: str | None, as_json: bool, csv_file: Path | None) -> None:
    """Run a study, print its table on stdout, and exit with 3 if some of its cells failed, with 1 if all did."""
    disk_and_memory.check_limit()
    from ticketlab.studies.study import run_study

    done = run_study(study, lab, jobs=jobs, name=name)
    print_results(done, as_json=as_json)
    if csv_file is not None:
        from ticketlab.report.numbers_file import write_numbers

        write_numbers(done.comparison, csv_file)
    progress.say(f"study: {done.directory} ({counted(done.computed, 'stage')} computed)")
    progress.say(f"report: ticketlab report {done.directory} --out report.html")
    cells = [cell for cell in done.comparison.cells if not cell.unavailable]
    failed = [cell for cell in cells if cell.error]
    for cell in failed:
        progress.warn(f"{cell.label}: {cell.error}")
    if failed:
        progress.warn(f"{counted(len(failed), 'cell')} of {len(cells)} failed; the same command tries them again")
        context = click.get_current_context()
        context.exit(EXIT_FAILED if len(failed) == len(cells) else EXIT_PARTIAL)


def print_results(done: StudyRun, *, as_json: bool) -> None:
    """Print the table of a study, or its cells with their numbers as JSON."""
    from ticketlab.core import files
    from ticketlab.studies.store import CELLS

    if as_json:
        numbers = [
            {"cell": one.cell, "task": one.task, "seed": one.seed, "stage": one.stage, "metric": one.metric, "value": one.value, "n": one.n}
            for one in done.numbers()
            if one.step is None
        ]
        run_recipe.print_json({**files.read_json(done.directory / CELLS), "numbers": numbers})
        return
    from ticketlab.report.compared_table import compared_table
    from ticketlab.report.table_text import print_table

    print_table(compared_table(done.comparison), run_recipe.open_console())
