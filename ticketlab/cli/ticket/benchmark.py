"""``ticketlab ticket benchmark``: one table of a model in several formats: size, latency, accuracy, and accuracy under attack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ticketlab.cli import output, run_recipe, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.completion import ComponentName
from ticketlab.cli.path_types import PathType
from ticketlab.cli.ticket.find_ticket import ticket_file


@click.command(cls=Command, epilog="Example: ticketlab ticket benchmark structured-ticket --attack deepwordbug --n 200")
@click.argument("model")
@shared_options.OF_RUN
@shared_options.TASK
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["dense", "shrunk", "onnx", "onnx-int8"]),
    help="Format to measure; may be repeated.  [default: all that the model can have]",
)
@click.option("--ticket", type=PathType(), help="Apply this ticket first: a file, or the folder of a draw stage.")
@click.option("--attack", "attacks", multiple=True, type=ComponentName("attack"), help="Attack to run; may be repeated.")
@shared_options.ATTACKED
@shared_options.RESOURCES
@shared_options.METRIC
@click.option(
    "--batch-size",
    "batch_sizes",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows of a timed batch.  [default: 1, 32]",
)
@click.option("--length", type=click.IntRange(min=1), metavar="TOKENS", help="Length of the timed rows.  [default: 128]")
@click.option("--repeats", type=click.IntRange(min=1), metavar="N", help="Timed passes, of which the median counts.  [default: 20]")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Threads of a timed pass on the CPU.  [default: 1]")
@shared_options.MAX_LENGTH
@shared_options.SET
@shared_options.RUN_NAME
@shared_options.OUTPUT
def benchmark(
    model: str,
    run_seed: int | None,
    run_task: str | None,
    tasks: Sequence[str],
    text_columns: Sequence[str],
    label_column: str | None,
    labels: Sequence[str],
    drop_labels: Sequence[str],
    formats: Sequence[str],
    ticket: Path | None,
    attacks: Sequence[str],
    examples: int | None,
    word_vectors: str | None,
    encoder: str | None,
    mlm: str | None,
    metrics: Sequence[str],
    batch_sizes: Sequence[int],
    length: int | None,
    repeats: int | None,
    threads: int | None,
    max_length: int | None,
    sets: Sequence[str],
    name: str | None,
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
) -> None:
    """Export MODEL, a classifier (a folder, a hub name, or a stage or run of a lab), in several formats, and measure each.

    The table has a line for each format: the bytes of its weights, its parameters, the median latency of a batch, its accuracy, and its
    accuracy under each attack. Without --task, these are measured on the run's own task. `ticketlab ticket export` writes a format to a
    folder of yours.

    dense: full size, with zeros. shrunk: removed heads and neurons are cut out. onnx: for onnxruntime. onnx-int8: the same with 8-bit
    integers.
    """
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.recipes.format_benchmark import format_benchmark
    from ticketlab.recipes.measured_model import choose_data, find_model
    from ticketlab.recipes.overrides import attack_tables

    measured = find_model(find_run(model, lab, "model"), seed=run_seed, task=run_task)
    chosen = shared_options.tasks_of(tasks, text_columns, label_column, labels, drop_labels)
    data = choose_data(measured, chosen)
    resources = shared_options.given(word_vectors=word_vectors, encoder=encoder, mlm=mlm)
    recipe = format_benchmark(
        measured,
        data,
        formats=formats,
        ticket=None if ticket is None else ticket_file(ticket, lab),
        attacks=attack_tables([{"name": attack} for attack in attacks], resources),
        measured=shared_options.given(batch_sizes=list(batch_sizes) or None, length=length, repeats=repeats, threads=threads),
        attacked=shared_options.given(examples=examples),
        metrics=metrics,
        sets=sets,
        max_length=max_length,
    )
    run_recipe.check_csv(csv_file, [recipe], lab, name)
    done = run_recipe.run_in_lab(recipe, lab, name=name)
    data.warn_if_changed(done.results)
    rows = run_recipe.rows_of(done)
    if as_json:
        output.print_json(done.results)
    else:
        run_recipe.print_rows(rows, run_recipe.title_of(done, measured.shown), run_recipe.notes_of([done]), only_main=len(attacks) < 2)
    run_recipe.finish([done], csv_file, [measured.shown])
