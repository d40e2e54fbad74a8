"""What every command that runs a recipe does around it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ticketlab.core import disk_and_memory, formatting, progress
from ticketlab.core.errors import EXIT_PARTIAL
from ticketlab.core.formatting import counted
from ticketlab.report import rows as reported
from ticketlab.report.rows import ResultRow

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ticketlab.recipes.recipe import Recipe
    from ticketlab.runs.run import Run

WIDTH_OF_FILES = 160


def run_in_lab(recipe: Recipe, lab: Path, **more: Any) -> Run:
    """Run a recipe. Torch is imported here, and not before.

    :raises OutOfMemory: the process may not have the memory that this takes.
    """
    disk_and_memory.check_limit()
    from ticketlab.runs.run import run

    return run(recipe, lab, **more)


def print_plan(recipe: Recipe, lab: Path) -> None:
    """Print the resolved recipe on stdout, and on stderr which of its stages are in the lab. Nothing is computed or fetched."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # before the hub's client is imported
    from ticketlab.runs.plan import describe

    lines = list(describe(recipe, lab))
    print_toml(recipe.to_toml())
    for line in lines:
        progress.say(line)


def check_csv(csv_file: Path | None, recipes: Sequence[Recipe]) -> None:
    """Refuse, before the work, a csv file that holds the numbers of other runs than those of the recipes.

    :raises UsageError: it does.
    """
    from ticketlab.report.csv_file import check_runs, has_numbers

    if csv_file is not None and has_numbers(csv_file):
        from ticketlab.runs.run import name_of

        check_runs(csv_file, {name_of(recipe) for recipe in recipes})


def rows_of(run: Run, label: str | None = None) -> list[ResultRow]:
    """Return the rows of a run, called ``label`` in place of the recipe if one is given."""
    return reported.rows(run.results, label)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout; letters of any script stay, what a terminal would obey is escaped as JSON escapes it."""
    whole = json.dumps(value, indent=2, ensure_ascii=False)
    click.echo("\n".join(line if line.isprintable() else _escaped(line) for line in whole.split("\n")))


def print_toml(text: str) -> None:
    """Print TOML on stdout, with what a terminal would obey escaped as TOML escapes it."""
    click.echo("".join(one if one.isprintable() or one == "\n" else f"\\U{ord(one):08x}" for one in text.rstrip("\n")))


def _escaped(line: str) -> str:
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in line)


def print_line(text: str = "") -> None:
    """Print a line on stdout, whatever is in the names that it mentions."""
    click.echo(formatting.printable(text))


def print_table(table: Table) -> None:
    """Print a table on stdout, as wide as it is where no terminal sets a width."""
    open_console().print(table)


def print_rows(rows: Sequence[ResultRow], title: str, notes: Sequence[str] = ()) -> None:
    """Print the tables of rows on stdout, each in parts where the terminal is too narrow, and the notes under them.

    After the models and attacks come the subsets of challenge sets, and the classes of all sets. What has too many of them for a table is
    named on stderr. Notes say which rows are the same computation.
    """
    from ticketlab.report import class_table, identical_results, subset_table, table
    from ticketlab.report.layout import fit, shown

    if not rows:
        progress.say("no model was evaluated, so there is no table; results.json has what there is (--json prints it)")
        return
    console = open_console()
    few, many = subset_table.sheets(rows)
    for sheet in (*table.sheets(rows, title), *few, *class_table.sheets(rows), *many):
        for part in fit(sheet, console):
            console.print(part)
    for note in (*identical_results.notes(rows), *notes):
        console.print(f"Note: {shown(note)}", highlight=False, soft_wrap=True)
    for line in (*class_table.left_out(rows), *subset_table.left_out(rows)):
        progress.say(line)


def open_console() -> Console:
    """Return what writes to stdout, as wide as the terminal, or wide where there is none."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH_OF_FILES)


def notes_of(runs: Sequence[Run]) -> list[str]:
    """Return what is said under the tables of runs, each once."""
    from ticketlab.report.notes import notes

    return list(dict.fromkeys(note for run in runs for note in notes(run.results)))


def title_of(run: Run, model: str | None = None) -> str:
    """Return the title of a run's table; ``model`` is what to call the model."""
    from ticketlab.report.table import title

    return title(run.results, model)


def finish(runs: Sequence[Run], rows: Sequence[ResultRow], csv_file: Path | None) -> None:
    """Say where everything is, write the csv file, and exit with 3 when attacked examples ended in errors.

    A time limit is no error, unless it left an attack fewer results than it took away.
    """
    for run in runs:
        progress.say(f"results, log and tickets: {run.directory}")
    if csv_file is not None:
        from ticketlab.report.csv_file import write_csv

        write_csv(rows, csv_file)
    late = sum(reported.timeouts(run.results) for run in runs)
    if late:
        given_up = counted(late, "attacked example was", "attacked examples were")
        progress.warn(f"{given_up} given up after the time limit (left out of all numbers; what holds takes longest, so Aua may be higher)")
    empty = [name for run in runs for name in reported.mostly_late(run.results)]
    if empty:
        progress.warn(f"{', '.join(empty)}: most examples were given up, so the numbers say little; raise the limit")
    failed = sum(reported.errors(run.results) for run in runs)
    if failed:
        ended = counted(failed, "attacked example")
        progress.warn(f"{ended} ended in an error (left out of all numbers; the records say why)")
    if failed or empty:
        click.get_current_context().exit(EXIT_PARTIAL)
