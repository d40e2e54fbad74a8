"""``ticketlab ticket apply``: write a model with the weights that a ticket removes set to zero or cut out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ticketlab.cli import shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.cli.ticket.find_ticket import ticket_file
from ticketlab.core import progress
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from ticketlab.tickets.ticket import Ticket


@click.command(cls=Command, epilog="Example: ticketlab ticket apply ticket.safetensors bert-base-uncased --out pruned")
@click.argument("ticket", type=PathType())
@click.argument("model")
@shared_options.OF_RUN
@click.option(
    "--labels",
    "--label",
    "labels",
    multiple=True,
    metavar="NAME",
    help="Name of a label, if MODEL has no classifier yet; give one per label, in order.",
)
@click.option("--shrink", is_flag=True, help="Cut out the removed heads and neurons instead, for a smaller model.")
@click.option("--out", type=PathType(file_okay=False), required=True, help="Folder to write.")
@shared_options.LAB
def apply(
    ticket: Path,
    model: str,
    run_seed: int | None,
    run_task: str | None,
    labels: Sequence[str],
    shrink: bool,
    out: Path,
    lab: Path,
) -> None:
    """Write MODEL (a folder, a hub name, `demo`, or a stage or run of a lab) with the weights that TICKET removes set to zero.

    A run is given by its name or directory, by the beginning of its name or digest, or by the name of its recipe for the latest run in
    --lab; `latest` is the latest of all. --run-seed and --run-task select the ticket, the model or both.

    Plain transformers loads the result; with --shrink, after `import ticketlab.auto`. If MODEL has no classifier, it gets the one that
    TICKET was found with, or an untrained one for --labels.
    """
    from ticketlab.backbone import loading, saving
    from ticketlab.backbone.backbone import Backbone
    from ticketlab.lab.finished_models import resolve
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.lab.layout import is_run
    from ticketlab.runs.provenance import provenance_of
    from ticketlab.tickets.ticket import Ticket

    ticket = Path(find_run(str(ticket), lab, "draw"))
    model = find_run(model, lab, "model")
    ticket_of_run, model_of_run = is_run(ticket), is_run(Path(model))
    file = ticket_file(ticket, lab, *((run_task, run_seed) if ticket_of_run else ()))
    loaded = Ticket.load(file)
    if shrink and "weights" in loaded.groups:
        raise UsageError(
            f"{ticket}: a ticket of single weights does not make a smaller model, because every matrix keeps its shape; omit --shrink"
        )
    place = resolve(model, task=run_task, seed=run_seed) if model_of_run or not ticket_of_run else resolve(model)
    if out.resolve() == Path(place).resolve():
        raise UsageError(f"--out {out}: is MODEL itself, which is never changed; give a new folder")
    own_head = not labels and bool(loaded.head) and loading.lacks_classifier(place)
    if labels or own_head:
        classifier, tokenizer = loading.load_classifier(place, tuple(labels) or loaded.labels, seed=0)
        if own_head:
            _put_head(loaded, classifier, model)
    else:
        classifier, tokenizer, _ = loading.load_finished(place, any_outputs=True)
    if shrink:
        classifier = loaded.shrink(classifier)
    else:
        loaded.apply(classifier)
        left_out = [name.removeprefix("weights/") for name in loaded.masks if name not in loaded.masks_on(Backbone(classifier))]
        if left_out:
            progress.say(f"the masks of {', '.join(left_out)} are not applied: the ticket was found with another classifier")
    saving.save(classifier, tokenizer, out, provenance_of(place, file).trained_on)
    progress.say(f"{out}: keeps {loaded.counts()}")


def _put_head(ticket: Ticket, classifier: PreTrainedModel, model: str) -> None:
    """Give an encoder the classifier that a ticket was found with.

    :raises UsageError: the ticket was found with other weights.
    """
    from ticketlab.backbone.backbone import Backbone
    from ticketlab.backbone.classifier_head import put_head

    backbone = Backbone(classifier)
    ticket.check(backbone)
    if ticket.found_on != backbone.weights_hash():
        raise UsageError(
            f"{model}: has no classifier, and the ticket's classifier belongs to other weights; use the model of the search "
            "(`ticketlab ticket export RUN`), or name the labels of a new classifier with --labels"
        )
    put_head(classifier, ticket.head)
