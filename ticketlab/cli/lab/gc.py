"""``ticketlab lab gc``: remove the stages that no run needs."""

from __future__ import annotations

from pathlib import Path

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.lab.confirm import confirmed
from ticketlab.core import progress, quantities
from ticketlab.core.formatting import counted


@click.command(cls=Command, epilog="Example: ticketlab lab gc --dry-run")
@click.option("--dry-run", is_flag=True, help="List what would be removed, and remove nothing.")
@click.option("--older-than", metavar="AGE", help="Only stages that have not changed for this time: 12h, 2d, 1w.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options.LAB
@shared_options.JSON
def gc(dry_run: bool, older_than: str | None, yes: bool, lab: Path, as_json: bool) -> None:
    """Remove the stages of a lab that no run, study or unfinished run refers to. Lists them, and asks first.

    Kept are the stages of every run in the lab, finished or interrupted, everything that a recipe of a run or any other file in the lab
    names, the stages that those were computed from, and whatever a process is computing. References from outside the lab, such as
    recipes or notebooks elsewhere, are not known: see with --dry-run.
    """
    from ticketlab.notebook.listing import parse_age
    from ticketlab.notebook.removal import check_lab, remove_stages, unneeded_stages
    from ticketlab.notebook.stage_kinds import count_by_kind

    if as_json and not dry_run and not yes:
        dry_run = True
        progress.say("--json without --yes: nothing is removed")
    if not dry_run:
        check_lab(lab)
    found = unneeded_stages(lab, parse_age("--older-than", older_than) if older_than is not None else 0.0)
    total = sum(stage.bytes for stage in found)
    what = f"{counted(len(found), 'stage')}, {quantities.size(total)}"
    if not as_json:
        for kind, number, size in count_by_kind(lab, found):
            output.print_line(f"{kind}: {counted(number, 'stage')}, {quantities.size(size)}")
    removed = []
    if not found:
        if not dry_run:
            remove_stages(lab, [])  # removes what killed processes left
        progress.say(f"{lab}: every stage is needed")
    elif dry_run:
        progress.say(f"{lab}: {what} would be removed")
    elif confirmed(f"Remove {what} from {lab}?", yes=yes):
        removed = remove_stages(lab, [stage.key for stage in found])
        progress.say(f"{lab}: {counted(len(removed), 'stage')} removed, {quantities.size(sum(stage.bytes for stage in removed))}")
        if len(removed) < len(found):
            progress.say(f"{counted(len(found) - len(removed), 'stage')} kept: needed by a run that has started in the meantime")
    else:
        progress.say("nothing is removed")
    if as_json:
        output.print_json(
            {
                "unneeded": [{"key": stage.key, "bytes": stage.bytes} for stage in found],
                "bytes": total,
                "removed": [stage.key for stage in removed],
            }
        )
