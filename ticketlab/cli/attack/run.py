"""``ticketlab attack MODEL``: a finished model under text attacks."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ticketlab import files
from ticketlab.cli import flags, running
from ticketlab.cli.command import Command
from ticketlab.cli.default_command import SameName
from ticketlab.cli.names import ComponentName

if TYPE_CHECKING:
    from ticketlab.lab.run import Run


class _Attack(Command):
    context_class = SameName


@click.command(cls=_Attack, epilog="Example: ticketlab attack ./my-model --task sst2 --attack deepwordbug --n 100 --out records.jsonl")
@click.argument("model")
@flags.TASK
@click.option("--attack", "attacks", multiple=True, required=True, type=ComponentName("attack"), help="The attack; may be repeated.")
@flags.ATTACKED
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Picks the examples, and seeds the attack of each.",
)
@flags.SPLIT
@flags.LABEL_MAP
@flags.RESOURCES
@click.option("--query-budget", type=click.IntRange(min=1), metavar="N", help="Give up on an example after so many queries.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Give up on an example after so long.")
@click.option("--in-flight", type=click.IntRange(min=1), metavar="N", help="Examples attacked at once in one process.  [default: 64]")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes; on GPUs they take them in turn.  [default: one a core, or one on a GPU]",
)
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16"]),
    help="Number format of the model under attack and of those that the attack needs.  [default: fp32]",
)
@flags.MAX_LENGTH
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Copy the records here, one JSON line per example.")
@flags.SET
@flags.OUTPUT
def run(
    model: str,
    tasks: Sequence[str],
    text_columns: Sequence[str],
    label_column: str | None,
    labels: Sequence[str],
    attacks: Sequence[str],
    examples: int | None,
    seed: int,
    split: str | None,
    label_map: Sequence[str],
    word_vectors: str | None,
    encoder: str | None,
    mlm: str | None,
    query_budget: int | None,
    timeout: float | None,
    in_flight: int | None,
    workers: int | None,
    precision: str | None,
    max_length: int | None,
    out: Path | None,
    sets: Sequence[str],
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
) -> None:
    """Attack MODEL, a classifier: a folder, a model on the hub (owner/name), or a stage or run of a lab.

    Records are written as they come: after an interruption the same command goes on with the examples that are left. They do not depend
    on --in-flight and --workers. Several attacks or tasks go to several files beside --out, with their names in the file's. A folder that
    is called like a command below is written ./show.
    """
    from ticketlab.composition import attack_tables
    from ticketlab.lab.finished import one_stage

    asked = flags.given(word_vectors=word_vectors, encoder=encoder, mlm=mlm, query_budget=query_budget)
    settings = {"attacks": attack_tables([{"name": name} for name in attacks], asked), "sample_seed": seed}
    settings |= flags.given(examples=examples, split=split, label_map=list(label_map) or None)
    settings |= flags.given(timeout=timeout, in_flight=in_flight, workers=workers, precision=precision)
    chosen = flags.tasks_of(tasks, text_columns, label_column, labels)
    done = running.run_in_lab(one_stage("attack", model, chosen, settings, sets, max_length=max_length), lab)
    rows = running.rows_of(done, label=model)
    if out is not None:
        for source, target in _records(done, lab, out):
            files.replace(target, functools.partial(shutil.copyfile, source))
    if as_json:
        running.print_json(done.results)
    else:
        running.print_rows(rows, running.title_of(done, model))
    running.finish([done], rows, csv_file)


def _records(run: Run, lab: Path, out: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each file of records and where it goes."""
    from ticketlab.lab.lab import Lab

    found = [
        (task, name, Lab(lab).stage(stage["key"]) / "records" / f"{name}.jsonl")
        for task, seeds in run.results["tasks"].items()
        for stages in seeds.values()
        for stage in stages.values()
        for name in stage.get("attacks", {})
    ]
    several_tasks, several_attacks = (len(set(names)) > 1 for names in ([task for task, *_ in found], [name for _, name, _ in found]))
    for task, name, source in found:
        parts = [out.stem, *[task] * several_tasks, *[name.replace(":", "-")] * several_attacks]
        yield source, out.with_name("-".join(parts) + out.suffix)
