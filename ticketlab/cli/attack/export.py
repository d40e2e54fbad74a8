"""``ticketlab attack export``: write the texts that fooled a model as a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from ticketlab.cli import shared_options
from ticketlab.cli.attack.find_records import record_files
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.core import progress
from ticketlab.core.formatting import counted


@click.command(cls=Command, epilog="Example: ticketlab attack export records.jsonl --out adversarial.csv")
@click.argument("file", nargs=-1, required=True, type=PathType())
@shared_options.OF_RUN
@click.option("--out", required=True, type=PathType(dir_okay=False), help="File to write, ending in .csv, .jsonl or .parquet.")
@shared_options.LAB
def export(file: Sequence[Path], run_seed: int | None, run_task: str | None, out: Path, lab: Path) -> None:
    """Write the texts in FILE that fooled the model, with their correct labels, as a data set for --task, --ood or `augment`.

    FILE is a file of records, the folder of an attack stage, or a run: given by its name or directory, by the beginning of its name or
    digest, or by the name of its recipe for the latest run in --lab with an attack; `latest` is the latest of all.
    Several files are merged into one data set. Columns: `id` (ATTACK/ID of the original), the texts, the label, then their origin:
    `attack`, `model` and `taken_from` (the split). A file with other content is never overwritten.
    """
    from ticketlab.attacks.results import export as exported
    from ticketlab.attacks.results.adversarial_examples import collect

    exported.check_kind(out)
    found = collect([records for path in file for records in record_files(path, lab, run_task, run_seed)])
    names = exported.write(found, out)
    counts = ", ".join(f"{count} {label}" for label, count in sorted(Counter(one.label for one in found.texts).items()))
    duplicates = f"; {counted(found.repeated, 'duplicate')} omitted" if found.repeated else ""
    renamed = f"; the columns {', '.join(found.columns)} are renamed {', '.join(names)}" if names != found.columns else ""
    progress.say(f"{out}: {counted(len(found.texts), 'text')} ({counts}){duplicates}{renamed}")
