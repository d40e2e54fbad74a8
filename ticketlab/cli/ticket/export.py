"""``ticketlab ticket export``: export a model as dense, shrunk or ONNX (float32 or int8), with a model card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.cli.ticket.find_ticket import ticket_file
from ticketlab.core import progress
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from ticketlab.export.model import Exported, Format


@click.command(cls=Command, epilog="Example: ticketlab ticket export robust-ticket --run-seed 1 --format onnx --out my-model")
@click.argument("model")
@shared_options.OF_RUN
@click.option("--format", type=click.Choice(["dense", "shrunk", "onnx", "onnx-int8"]), required=True, help="Format to write, see above.")
@click.option("--out", type=PathType(file_okay=False), required=True, help="Folder to write.")
@click.option("--ticket", type=PathType(), help="Apply this ticket first: a file, or the folder of a draw stage.")
@shared_options.LAB
@shared_options.JSON
def export(
    model: str, run_seed: int | None, run_task: str | None, format: str, out: Path, ticket: Path | None, lab: Path, as_json: bool
) -> None:
    """Export MODEL, a classifier (a folder, a hub name, or a stage or run of a lab), with a model card.

    A run is given by its name or directory, by the beginning of its name or digest, or by the name of its recipe for the latest run in
    --lab; `latest` is the latest of all.

    dense: full size, with zeros where weights were removed; plain transformers loads it. shrunk: removed heads and neurons are cut out;
    transformers loads it after `import ticketlab.auto`. onnx: runs in onnxruntime, without ticketlab and torch. onnx-int8: the
    same with 8-bit integers, which is smaller and faster, and gives slightly different logits.
    """
    from ticketlab.backbone.loading import load_finished
    from ticketlab.export.model import export_model
    from ticketlab.lab.finished_models import resolve
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.runs.provenance import provenance_of
    from ticketlab.tickets.ticket import Ticket

    file = ticket_file(ticket, lab) if ticket is not None else None
    loaded = Ticket.load(file) if file is not None else None
    place = resolve(find_run(model, lab, "model"), task=run_task, seed=run_seed)
    if out.resolve() == Path(place).resolve():
        raise UsageError(f"--out {out}: is MODEL itself, which is never changed; give a new folder")
    classifier, tokenizer, _ = load_finished(place, any_outputs=True)
    done = export_model(classifier, tokenizer, out, cast("Format", format), ticket=loaded, provenance=provenance_of(place, file))
    if as_json:
        output.print_json({"folder": str(out), **done.to_table()})
    else:
        _print(done)
    progress.say(f"{out}: written")


def _print(done: Exported) -> None:
    output.print_line(f"format: {done.format}")
    for group, sparsity in done.sparsity.items():
        output.print_line(f"sparsity of {group}: {100 * sparsity:.2f} %")
    output.print_line(f"parameters: {done.parameters:,} ({done.nonzero:,} nonzero)")
    output.print_line(f"bytes: {done.bytes:,}")
    if done.largest_difference is not None:
        output.print_line(f"largest difference from torch's logits: {done.largest_difference:.1g}")
