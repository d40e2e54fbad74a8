"""``ticketlab attack export``: the texts that led a model astray, as a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from ticketlab import progress
from ticketlab.cli.attack.place import record_files
from ticketlab.cli.command import Command
from ticketlab.wording import counted


@click.command(cls=Command, epilog="Example: ticketlab attack export records.jsonl --out adversarial.csv")
@click.argument("file", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The file to write: it ends in .csv, .jsonl or .parquet."
)
def export(file: Sequence[Path], out: Path) -> None:
    """Write the texts in FILE that led the model astray, with their right labels, as a data set for --task, --ood or `augment`.

    FILE is a file of records, or the folder of an attack stage or a run; several go into one data set. Columns: `id` (ATTACK/ID of the
    original), the texts and the label, then what they came from: `attack`, `model` and `split`. No other file is replaced.
    """
    from ticketlab.attacks import exported
    from ticketlab.attacks.adversarial import collect

    exported.check_kind(out)
    found = collect([records for path in file for records in record_files(path)])
    names = exported.write(found, out)
    counts = ", ".join(f"{count} {label}" for label, count in sorted(Counter(one.label for one in found.texts).items()))
    left = f"; {found.repeated} that were there already are left out" if found.repeated else ""
    called = f"; the columns {', '.join(found.columns)} are called {', '.join(names)}" if names != found.columns else ""
    progress.say(f"{out}: {counted(len(found.texts), 'text')} ({counts}){left}{called}")
