"""``ticketlab lab ls``: list the runs and studies of a lab."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.core import progress


@click.command(cls=Command, epilog="Example: ticketlab lab ls --recipe robust-ticket --since 2d --sort clean.accuracy")
@click.argument("pattern", required=False)
@click.option("--recipe", metavar="NAME", help="Only runs of this recipe.")
@click.option("--task", metavar="NAME", help="Only runs on this task.")
@click.option("--since", metavar="AGE|DATE", help="Only runs that changed since then: 30m, 12h, 2d, 1w, or 2026-01-31.")
@click.option("--unfinished", is_flag=True, help="Only runs without results: in progress, interrupted or damaged.")
@click.option(
    "--sort", "by", metavar="age|size|name|METRIC", default="age", show_default=True,
    help="Newest, largest or highest first, or by name. METRIC is a number such as clean.accuracy or attack.textfooler.aua.",
)  # fmt: skip
@shared_options.LAB
@shared_options.JSON
def ls(
    pattern: str | None, recipe: str | None, task: str | None, since: str | None, unfinished: bool, by: str, lab: Path, as_json: bool
) -> None:
    """List the runs of a lab with what differs from the recipe's own settings, their main numbers, age and size; and its studies.

    PATTERN selects runs: part of the name, digest, label, model or task, or a pattern with `*` and `?` for the whole of one of these.
    The first column is the name that a user chose (--name), or the beginning of the digest; every command on runs accepts both.
    """
    from ticketlab.notebook import listing, run_table
    from ticketlab.notebook.entries import read_entries
    from ticketlab.notebook.studies import read_studies

    wanted = listing.Filter(
        pattern=pattern or "",
        recipe=recipe or "",
        task=task or "",
        since=listing.parse_since(since) if since is not None else None,
        unfinished=unfinished,
    )
    metrics: set[str] = set()
    values = None if by in listing.ORDERS else listing.metric_numbers(by, metrics)
    entries = list(read_entries(lab, values))
    chosen = [entry for entry in entries if wanted.accepts(entry)]
    if values is not None:
        listing.check_metric(by, chosen, metrics)
    chosen = listing.ordered(chosen, by)
    studies = [] if wanted != listing.Filter(pattern=wanted.pattern) else read_studies(lab)
    studies = [study for study in studies if wanted.pattern.casefold() in study.name.casefold()]
    if as_json:
        metric = "" if values is None else by
        output.print_json(run_table.as_json(chosen, studies, metric))
        return
    console = output.open_console()
    if chosen:
        names = run_table.short_names(entries)
        console.print(run_table.run_table(chosen, names, time.time(), console.width, "" if values is None else by))
    if studies:
        console.print(run_table.study_table(studies, time.time()))
    if not chosen and not studies:
        nothing = "no runs match" if entries else "no runs" if lab.is_dir() else "no lab here (use --lab for another folder)"
        progress.say(f"{lab}: {nothing}")
    elif len(chosen) < len(entries):
        progress.say(f"{len(chosen)} of {len(entries)} runs")
