"""``ticketlab demo``: three models on embedded text, attacked, in minutes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from attrs import evolve

from ticketlab import progress, recipe_tables
from ticketlab.cli import flags, running
from ticketlab.cli.command import Command
from ticketlab.errors import SettingError, did_you_mean

MODELS = {"fine-tune": "fine-tuned model", "random-ticket": "random ticket", "robust-ticket": "robust ticket"}
"""The recipes, and what each one's model is called in the table."""
INTRODUCTION = (
    "Three models learn to tell good reviews from bad ones, then each is attacked with typing errors: the whole model fine-tuned, a random "
    "ticket, and a robust ticket. Everything is on this machine."
)


@click.command(cls=Command, epilog="Example: ticketlab demo --set search.epochs=4")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Another seed trains other models.")
@flags.SET
@flags.OUTPUT
def demo(seed: int, sets: Sequence[str], lab: Path, as_json: bool, csv_file: Path | None) -> None:
    """Fine-tune, draw a random and a robust ticket, and attack all three: in minutes, without network.

    It runs the recipes fine-tune, random-ticket and robust-ticket at the scale `demo`, on embedded text, with the encoder of the extra
    `ticketlab[demo]`. --set applies to those of the three that have the stage.
    """
    from ticketlab.composition import compose

    plain = {name: compose(name, tasks=["demo"], scale="demo", seeds=[seed], model="demo", attacks=["deepwordbug"]) for name in MODELS}
    keys = {name: {*composed.stages, *recipe_tables.HEAD} for name, composed in plain.items()}
    known = set().union(*keys.values())
    for assignment in sets:
        if _key(assignment) not in known:
            raise SettingError(f"--set {assignment}: no recipe of the demo has `{_key(assignment)}`{did_you_mean(_key(assignment), known)}")
    progress.say(INTRODUCTION)
    runs, rows = [], []
    for number, (name, label) in enumerate(MODELS.items(), start=1):
        own = [assignment for assignment in sets if _key(assignment) in keys[name]]
        composed = compose(name, tasks=["demo"], scale="demo", seeds=[seed], model="demo", attacks=["deepwordbug"], sets=own)
        progress.say(f"{number}/{len(MODELS)} {label}: {composed.summary} ({', '.join(composed.stages)})")
        runs.append(running.run_in_lab(composed, lab))
        rows += [evolve(running.rows_of(runs[-1])[-1], label=label)]
    if as_json:
        running.print_json([run.results for run in runs])
    else:
        running.print_rows(rows, running.title_of(runs[0]))
    running.finish(runs, rows, csv_file)


def _key(assignment: str) -> str:
    return assignment.partition("=")[0].split(".")[0].strip()
