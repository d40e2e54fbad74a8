"""``ticketlab ticket import``: make a ticket of masks that were found elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ticketlab.cli import shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.core import progress
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SHOWN_NAMES = 4


@click.command("import", cls=Command, epilog="Example: ticketlab ticket import masks.safetensors --model bert-base-uncased --out my-ticket")
@click.argument("file", type=PathType())
@click.option("--model", required=True, help="The model that the masks are for: a folder, a hub name, `demo`, or a stage or run of a lab.")
@shared_options.OF_RUN
@click.option(
    "--map", "rules", multiple=True, metavar="PATTERN=NAME",
    help="Rename masks, such as '*.mask=*.weight': * stands for any text. May be repeated; the first that matches applies.",
)  # fmt: skip
@click.option("--out", type=PathType(), help="Folder for ticket.safetensors, or a .safetensors file.  [default: FILE's name with -ticket]")
@shared_options.LAB
def import_masks(
    file: Path, model: str, run_seed: int | None, run_task: str | None, rules: Sequence[str], out: Path | None, lab: Path
) -> None:
    """Make a ticket of the masks in FILE, .safetensors or .npz, for the weights of a model.

    Masks are boolean, or 1 for what is kept and 0 for what is removed. They are called like the model's parameters, with or without the
    prefix of the base model (bert.), and with or without _mask, as in the state dict of a model that torch.nn.utils.prune has pruned; or
    head_mask of shape (layers, heads) and neuron_mask of shape (layers, neurons). Matrices without a mask are kept whole.
    """
    from ticketlab.lab.finished_models import resolve
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.lab.layout import TICKET
    from ticketlab.tickets import mask_files
    from ticketlab.tickets.ticket import Ticket

    out = out or Path(f"{file.stem}-ticket")
    target = out if out.suffix == ".safetensors" else out / TICKET
    if target.resolve() == file.resolve():
        raise UsageError(f"--out {out}: is FILE itself, which is never changed; give another name")
    masks = mask_files.rename(mask_files.read_masks(file), rules)
    loaded = _load(resolve(find_run(model, lab, "model"), task=run_task, seed=run_seed))
    facts = {"imported_from": file.name, "file_sha256": mask_files.hash_of_file(file)}
    try:
        ticket = Ticket.from_masks(loaded, masks, facts)
    except UsageError as problem:
        raise UsageError(f"{file}: {problem}") from None
    ticket.save(target)
    if whole := ticket.provenance["kept_whole"]:
        shown = ", ".join(whole[:SHOWN_NAMES]) + (f" and {len(whole) - SHOWN_NAMES} more" if len(whole) > SHOWN_NAMES else "")
        progress.say(f"{file}: has no mask of {shown}: kept whole")
    progress.say(f"{target}: keeps {ticket.counts()}")


def _load(place: str) -> PreTrainedModel:
    """Load a model with its classifier, if it has one."""
    from ticketlab.backbone import loading

    return loading.load_encoder(place) if loading.lacks_classifier(place) else loading.load_finished(place, any_outputs=True)[0]
