"""Code shared by all commands that run a recipe: run it, print its plan, tables and notes, and write its files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ticketlab.cli import output
from ticketlab.core import disk_and_memory, progress
from ticketlab.core.errors import EXIT_PARTIAL
from ticketlab.core.formatting import counted
from ticketlab.report import rows as reported
from ticketlab.report.rows import ResultRow

if TYPE_CHECKING:
    from ticketlab.executors.base import Executor
    from ticketlab.recipes.recipe import Recipe
    from ticketlab.report.cells import Comparison
    from ticketlab.runs.run import Run


def run_in_lab(recipe: Recipe, lab: Path, **more: Any) -> Run:
    """Run a recipe. Torch is imported here, not earlier.

    :raises OutOfMemory: the memory limit of the process is too low.
    """
    disk_and_memory.check_limit()
    from ticketlab.runs.run import run

    return run(recipe, lab, **more)


def lead(recipe: Recipe, lab: Path, *, name: str | None) -> Run:
    """Run a recipe like :func:`run_in_lab`, with the processes that train together with this one, if there are any."""
    disk_and_memory.check_limit()
    from ticketlab.training import parallel

    with parallel.connected():
        return run_in_lab(recipe, lab, name=name)


def follow() -> int:
    """Take part in the trainings of the process that runs the recipe, until it ends. Return the exit code of this process."""
    from ticketlab.stages import followers
    from ticketlab.training import parallel

    with parallel.connected() as group:
        assert group is not None
        return followers.follow(group)


def run_by_executor(recipe: Recipe, lab: Path, *, name: str | None, executor: Executor | None, jobs: int | None) -> Run:
    """Run a recipe whose stages an executor computes, by default `local`. Raises the errors of :func:`run_in_lab`."""
    disk_and_memory.check_limit()
    from ticketlab.studies.run import run

    return run(recipe, lab, name=name, executor=executor, jobs=jobs)


def print_plan(recipe: Recipe, lab: Path) -> None:
    """Print the resolved recipe on stdout, and on stderr which of its stages are in the lab. Nothing is computed or downloaded."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # must be set before huggingface_hub is imported
    from ticketlab.runs.plan import describe

    lines = list(describe(recipe, lab))
    output.print_toml(recipe.to_toml())
    for line in lines:
        progress.say(line)


def check_csv(csv_file: Path | None, recipes: Sequence[Recipe], lab: Path, name: str | None = None) -> None:
    """Check, before any work, that the file of numbers does not hold the numbers of other runs.

    :raises UsageError: it holds them.
    """
    from ticketlab.report.numbers_file import check_runs, has_content

    if csv_file is not None and has_content(csv_file):
        from ticketlab.runs.run import directory_name

        check_runs(csv_file, {directory_name(recipe, lab, name) for recipe in recipes})


def rows_of(run: Run, label: str | None = None) -> list[ResultRow]:
    """Return the rows of a run, labelled ``label`` or by the recipe."""
    return reported.result_rows(run.results, label)


def print_rows(rows: Sequence[ResultRow], title: str, notes: Sequence[str] = (), *, only_main: bool = False) -> None:
    """Print the tables of the rows on stdout, split if the terminal is too narrow, and the notes under them.

    The order is models and attacks, subsets of challenge sets, classes of all sets; with ``only_main``, the first of them only. Tables
    omitted for having too many subsets or classes are listed on stderr. Notes say which rows are the same computation.
    """
    from ticketlab.report import class_table, identical_results, main_table, subset_table
    from ticketlab.report.layout import cell_text, fit_to_console

    if not rows:
        progress.say("no model was evaluated, so there is no table; results.json has the results of all stages (--json prints them)")
        return
    console = output.open_console()
    few, many = subset_table.subset_tables(rows)
    details = () if only_main else (*few, *class_table.class_tables(rows), *many)
    for data in (*main_table.main_tables(rows, title), *details):
        for part in fit_to_console(data, console):
            console.print(part)
    for note in (*identical_results.identity_notes(rows), *notes):
        console.print(f"Note: {cell_text(note)}", highlight=False, soft_wrap=True)
    for line in () if only_main else (*class_table.omitted_sets(rows), *subset_table.omitted_columns(rows)):
        progress.say(line)


def notes_of(runs: Sequence[Run]) -> list[str]:
    """Return the notes under the tables of several runs, without repetitions."""
    from ticketlab.report.notes import notes

    return list(dict.fromkeys(note for run in runs for note in notes(run.results)))


def title_of(run: Run, model: str | None = None) -> str:
    """Return the title of a run's table; ``model`` replaces the name of the model."""
    from ticketlab.report.main_table import table_title

    return table_title(run.results, model)


def finish(runs: Sequence[Run], csv_file: Path | None, labels: Sequence[str] = ()) -> None:
    """Report the run's directory, write the file of numbers, and exit with 3 if attacked examples ended in errors.

    ``labels`` are those of the runs in the file, by default their own.

    Examples that ran out of time are not errors, unless most examples of an attack did.
    """
    for run in runs:
        progress.say(f"results, log and tickets: {run.directory}")
    if csv_file is not None:
        from ticketlab.report.numbers_file import write_numbers

        write_numbers(_comparison(runs, labels), csv_file)
    late = sum(reported.count_timeouts(run.results) for run in runs)
    if late:
        timed_out = counted(late, "attacked example was", "attacked examples were")
        progress.warn(
            f"{timed_out} given up after the time limit (excluded from all numbers; robust examples take longest, so Aua may be higher)"
        )
    empty = [name for run in runs for name in reported.mostly_timed_out(run.results)]
    if empty:
        progress.warn(f"{', '.join(empty)}: most examples were given up, so the numbers mean little; raise the time limit")
    failed = sum(reported.count_errors(run.results) for run in runs)
    if failed:
        ended = counted(failed, "attacked example")
        progress.warn(f"{ended} ended in an error (excluded from all numbers; the records have the messages)")
    if failed or empty:
        click.get_current_context().exit(EXIT_PARTIAL)


def _comparison(runs: Sequence[Run], labels: Sequence[str]) -> Comparison:
    from ticketlab.report.cells import RUN, Cell, Comparison, Factor

    labels = labels or [str(run.results.get("label", run.results["recipe"])) for run in runs]
    cells = tuple(Cell(label, {RUN: label}, run.directory, run.results) for run, label in zip(runs, labels, strict=True))
    return Comparison("", (Factor(RUN, tuple(labels)),), cells)
