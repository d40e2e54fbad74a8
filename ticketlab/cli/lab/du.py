"""``ticketlab lab du``: what takes the space on disk."""

from __future__ import annotations

from pathlib import Path

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.core import progress, quantities
from ticketlab.core.errors import UsageError


@click.command(cls=Command, epilog="Example: ticketlab lab du --json")
@shared_options.LAB
@shared_options.JSON
def du(lab: Path, as_json: bool) -> None:
    """Show the size of a lab by kind of content and by run.

    Removing a run (`ticketlab lab rm`, then `ticketlab lab gc`) frees its directory and its own stages. Shared stages are those that
    several runs need.
    """
    from ticketlab.notebook import disk_usage

    if not lab.is_dir():
        raise UsageError(f"{lab}: no such folder (use --lab for another lab)")
    usage = disk_usage.measure(lab)
    if as_json:
        output.print_json(disk_usage.as_json(usage))
        return
    console = output.open_console()
    console.print(disk_usage.kind_table(usage))
    if usage.runs:
        console.print(disk_usage.run_table(usage))
    if usage.without_run:
        progress.say(
            f"{quantities.size(usage.without_run)} in stages that belong to no run; `ticketlab lab gc` removes them if nothing needs them"
        )
