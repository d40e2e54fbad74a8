"""``ticketlab lab diff``: the settings and numbers in which two runs differ."""

from __future__ import annotations

from pathlib import Path

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.core import progress


@click.command(cls=Command, epilog="Example: ticketlab lab diff 1a2b3c 4d5e6f")
@click.argument("run")
@click.argument("other")
@shared_options.LAB
@shared_options.JSON
def diff(run: str, other: str, lab: Path, as_json: bool) -> None:
    """Show the settings in which RUN and OTHER differ, and their numbers: means over the seeds, and OTHER minus RUN.

    Notes say what was measured differently: other data, seeds, or examples. A run is given as in `ticketlab lab show`.
    """
    from ticketlab.lab.layout import RESULTS, is_run
    from ticketlab.lab.results import read_results
    from ticketlab.notebook import diff_tables, differing_numbers
    from ticketlab.notebook.find import find_any_run
    from ticketlab.notebook.settings import differing_settings, settings_of_run

    folders = [find_any_run(name, lab) for name in (run, other)]
    one, two = (settings_of_run(folder) for folder in folders)
    settings = differing_settings(one, two)
    unfinished = [folder.name for folder in folders if not is_run(folder)]
    numbers, notes = [], [f"{name} has no results yet" for name in unfinished]
    if not unfinished:
        results = [read_results(folder / RESULTS) for folder in folders]
        numbers = differing_numbers.differing_numbers(*results)
        notes = differing_numbers.caveats(*results)
    names = [folder.name for folder in folders]
    if as_json:
        output.print_json({**diff_tables.as_json(names, settings, numbers), "notes": notes})
        return
    console = output.open_console()
    output.print_line(f"RUN:   {names[0]}")
    output.print_line(f"OTHER: {names[1]}")
    if settings:
        console.print(diff_tables.setting_table(settings, ("RUN", "OTHER")))
    else:
        progress.say("all settings are the same")
    shown = [number for number in numbers if diff_tables.in_table(number)]
    if shown:
        console.print(diff_tables.number_table(shown, ("RUN", "OTHER")))
    elif not unfinished:
        progress.say("all numbers are the same")
    for note in notes:
        output.print_line(f"Note: {note}")
