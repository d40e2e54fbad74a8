"""``ticketlab lab``: list, show and compare the runs of a lab, and free disk space."""

from __future__ import annotations

import click

from ticketlab.cli.group import LazyGroup

COMMANDS = {
    "ls": ("ticketlab.cli.lab.ls:ls", "list runs and studies with their main numbers"),
    "show": ("ticketlab.cli.lab.show:show", "show everything about one run"),
    "diff": ("ticketlab.cli.lab.diff:diff", "show the settings and numbers in which two runs differ"),
    "rm": ("ticketlab.cli.lab.rm:rm", "remove runs; their stages stay until `lab gc`"),
    "gc": ("ticketlab.cli.lab.gc:gc", "remove the stages that no run needs"),
    "du": ("ticketlab.cli.lab.du:du", "show what takes the space on disk"),
}


@click.group(cls=LazyGroup, targets=COMMANDS, epilog="Example: ticketlab lab ls --task sst2 --sort attack.textfooler.aua")
def lab() -> None:
    """List, show and compare the runs of a lab, and free disk space."""
