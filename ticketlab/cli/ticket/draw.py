"""``ticketlab ticket draw``: draw a ticket of any sparsity from the scores of a search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ticketlab.cli import shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.cli.ticket.find_ticket import scores_file, ticket_file
from ticketlab.core import files, progress
from ticketlab.core.errors import SettingError, UsageError
from ticketlab.core.setting_values import parse_ratio
from ticketlab.lab import integrity

if TYPE_CHECKING:
    from ticketlab.tickets.draw import Scope


@click.command(cls=Command, epilog="Example: ticketlab ticket draw lab/stages/1a/1a2b.../ --sparsity 0.5 --out half.safetensors")
@click.argument("scores", type=PathType())
@shared_options.OF_RUN
@click.option("--sparsity", metavar="RATIO", help="Fraction of the units to remove, such as 0.3 or 1/6.")
@click.option("--heads", metavar="RATIO", help="Fraction of attention heads to remove, instead of --sparsity.")
@click.option("--neurons", metavar="RATIO", help="Fraction of feed-forward neurons to remove, instead of --sparsity.")
@click.option(
    "--scope",
    type=click.Choice(["global", "local"]),
    help="Rank all units together (global), or those of each matrix or layer separately (local).  [default: as in the search, else global]",
)
@click.option("--keep-a-head/--no-keep-a-head", default=True, show_default=True, help="Keep the best head of each layer.")
@click.option("--like", type=PathType(), help="Remove as many units of each matrix as this ticket.")
@click.option("--out", type=PathType(dir_okay=False), required=True, help="File to write.")
@shared_options.LAB
def draw(
    scores: Path,
    run_seed: int | None,
    run_task: str | None,
    sparsity: str | None,
    heads: str | None,
    neurons: str | None,
    scope: str | None,
    keep_a_head: bool,
    like: Path | None,
    out: Path,
    lab: Path,
) -> None:
    """Draw a ticket from SCORES: a run with one search, the folder of a search stage, or its scores.safetensors next to result.json.

    A run is given by its name or directory, by the beginning of its name or digest, or by the name of its recipe for the latest run in
    --lab with a search; `latest` is the latest of all.

    The ticket does not record which weights it belongs to: it can be applied to any model without a warning.
    """
    own = {"heads": heads, "neurons": neurons}
    has_ratios = sparsity is not None or None not in own.values()
    given = next((name for name, value in own.items() if value is not None), None)
    if given and not has_ratios and like is None:
        raise UsageError(f"--{'neurons' if given == 'heads' else 'heads'} is missing: --{given} needs it; 0 keeps all of them")
    if has_ratios == (like is not None) or (like is not None and own != {"heads": None, "neurons": None}):
        raise UsageError("give either --sparsity (or --heads and --neurons), or --like with a ticket")
    file = scores_file(scores, lab, run_task, run_seed)
    if out.resolve() == file.resolve():
        raise UsageError(f"--out {out}: this is the file of scores; name another one")
    ratios = {name: _ratio(name, value) for name, value in {"sparsity": sparsity, **own}.items()}
    found = _search_facts(file)
    scope = scope or found.get("scope") or "global"

    from ticketlab.backbone.classifier_head import load_head
    from ticketlab.lab.layout import HEAD
    from ticketlab.tickets import draw as drawing
    from ticketlab.tickets.scores import load_scores
    from ticketlab.tickets.ticket import HEADS_PER_LAYER, Ticket

    tensors = load_scores(file)
    if like is None:
        wanted = drawing.for_groups(tensors, ratios["sparsity"], heads=ratios["heads"], neurons=ratios["neurons"])
        if any(ratio is None for ratio in wanted.values()):
            raise UsageError(f"--sparsity is missing: the search scored {' and '.join(wanted)}")
        masks = drawing.draw(tensors, cast("dict[str, float]", wanted), cast("Scope", scope), keep_a_head)
    else:
        wanted = {}
        masks = drawing.draw_like(tensors, Ticket.load(ticket_file(like, lab)).masks)
    known = ("pruner", "objective", "task", "task_fingerprint", "text_fingerprint", HEADS_PER_LAYER)
    facts: dict[str, Any] = {name: found[name] for name in known if name in found}
    head, labels = load_head(file.parent / HEAD)
    ticket = Ticket(
        masks=masks,
        structure=found["structure"],
        found_on=found["found_on"],
        rewind_to=found.get("rewind_to", ""),
        provenance={**facts, "sparsity": wanted or None, "scope": scope, "like": str(like) if like else None},
        head=head,
        labels=labels,
    )
    ticket.save(out)
    progress.say(f"{out}: keeps {ticket.counts()}")


def _ratio(name: str, value: str | None) -> float | None:
    try:
        found: float | None = parse_ratio(value)
    except SettingError as problem:
        raise SettingError(f"--{name}: {problem}") from None
    return found


def _search_facts(file: Path) -> dict[str, Any]:
    """Return the facts of the search from its ``result.json``.

    :raises UsageError: the file of scores or the result is missing or invalid.
    """
    from ticketlab.lab.layout import RESULT, SCORES

    result = file.parent / RESULT
    for needed in (file, result):
        if not needed.is_file():
            raise UsageError(
                f"{needed}: there is no such file; SCORES is a run, the folder of a finished search stage, or its {SCORES} next to {RESULT}"
            )
    try:
        found = files.read_json(result)["search"]
        found = {"structure": found["structure"], "found_on": found["found_on"], **found}
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{result}: not the result of a search stage") from None
    integrity.read_result(result)
    return found
