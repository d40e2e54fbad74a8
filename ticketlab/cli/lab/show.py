"""``ticketlab lab show``: everything about one run."""

from __future__ import annotations

from pathlib import Path

import click

from ticketlab.cli import output, run_recipe, shared_options
from ticketlab.cli.command import Command
from ticketlab.core import progress
from ticketlab.core.errors import UsageError


@click.command(cls=Command, epilog="Example: ticketlab lab show latest")
@click.argument("run")
@click.option("--all", "everything", is_flag=True, help="Also show the numbers of each class and subset.")
@shared_options.LAB
@shared_options.JSON
def show(run: str, everything: bool, lab: Path, as_json: bool) -> None:
    """Show RUN: its recipe and what differs from it, data, seeds, numbers, stages and files.

    RUN is the name or the directory of a run, the beginning of its name or digest, or the name of a recipe for its latest run; `latest` is
    the latest of all. A run without results is shown as far as it is known.
    """
    from ticketlab.lab.layout import RESULTS
    from ticketlab.lab.results import read_results
    from ticketlab.notebook import run_page
    from ticketlab.notebook.find import find_any_run

    folder = find_any_run(run, lab)
    results = None
    if (folder / RESULTS).exists():
        try:
            results = read_results(folder / RESULTS)
        except UsageError as problem:
            progress.warn(str(problem))
    if as_json:
        output.print_json(run_page.as_json(folder, results))
        return
    console = output.open_console()
    console.print(run_page.facts_table(run_page.facts(folder, results)))
    if results is not None:
        from ticketlab.report.main_table import table_title
        from ticketlab.report.notes import notes
        from ticketlab.report.rows import result_rows

        run_recipe.print_rows(result_rows(results), table_title(results), notes(results), only_main=not everything)
        console.print(run_page.stage_table(folder, results))
    console.print(run_page.file_table(folder))
