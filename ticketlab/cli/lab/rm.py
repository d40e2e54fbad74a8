"""``ticketlab lab rm``: remove runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ticketlab.cli import shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.lab.confirm import confirmed
from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted


@click.command(cls=Command, epilog="Example: ticketlab lab rm 1a2b3c 4d5e6f; ticketlab lab gc")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options.LAB
def rm(runs: Sequence[str], yes: bool, lab: Path) -> None:
    """Remove the directories of runs: results, log, recipe, and copies of tickets and predictions. Asks first.

    RUN is the whole name or the directory of a run, or the beginning of its name or digest; or the name of a study, whose runs stay. The
    stages stay in the lab, and the same command finds them there; `ticketlab lab gc` then removes those that nothing else needs. What is
    in progress is not removed.
    """
    from ticketlab.lab.layout import lab_of_run
    from ticketlab.notebook.entries import entry_of
    from ticketlab.notebook.find import find_run_or_study
    from ticketlab.notebook.removal import check_lab, check_not_running, remove_runs
    from ticketlab.notebook.studies import is_study

    folders = list({folder.resolve(): folder for folder in (find_run_or_study(name, lab) for name in runs)}.values())
    place = lab_of_run(folders[0])
    if any(lab_of_run(folder) != place for folder in folders):
        raise UsageError("the runs are in several labs; remove those of one lab at a time")
    check_lab(place)
    check_not_running(place, folders)
    for folder in folders:
        if is_study(folder):
            progress.say(f"{folder.name}: a study; its runs stay")
            continue
        entry = entry_of(folder)
        differs = f" ({entry.differs})" if entry.differs else ""
        progress.say(f"{entry.name}: {entry.recipe}{differs} on {', '.join(entry.tasks) or 'no task'}, {entry.state}")
    what = counted(len(folders), "run") if not any(map(is_study, folders)) else counted(len(folders), "run or study", "runs and studies")
    if not confirmed(f"Remove {what}?", yes=yes):
        progress.say("nothing is removed")
        return
    remove_runs(folders)
    progress.say(f"{what} removed; `ticketlab lab gc` frees the space of the stages that nothing else needs")
