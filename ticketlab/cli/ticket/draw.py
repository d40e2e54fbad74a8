"""``ticketlab ticket draw``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ticketlab.cli import shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import Place
from ticketlab.cli.ticket.find_ticket import scores_file, ticket_file
from ticketlab.core import files, progress
from ticketlab.core.errors import SettingError, UsageError
from ticketlab.core.settings import parse_ratio
from ticketlab.lab import integrity

if TYPE_CHECKING:
    from ticketlab.tickets.draw import Scope


@click.command(cls=Command, epilog="Example: ticketlab ticket draw lab/stages/1a/1a2b.../ --sparsity 0.5 --out half.safetensors")
@click.argument("scores", type=Place())
@click.option("--sparsity", metavar="RATIO", help="Part of the units to leave out: 0.3, or 1/6.")
@click.option("--heads", metavar="RATIO", help="The same for attention heads alone, instead of --sparsity.")
@click.option("--neurons", metavar="RATIO", help="The same for feed-forward neurons alone, instead of --sparsity.")
@click.option(
    "--scope",
    type=click.Choice(["global", "local"]),
    help="Rank all units of a kind together, or those of each matrix or layer apart.  [default: as the search ranked them, else global]",
)
@click.option("--keep-a-head/--no-keep-a-head", default=True, show_default=True, help="Let the best head of each layer stay.")
@click.option("--like", type=Place(), help="Leave out as many units of each matrix as this ticket does.")
@click.option("--out", type=Place(dir_okay=False), required=True, help="The file to write.")
@shared_options.LAB
def draw(
    scores: Path,
    sparsity: str | None,
    heads: str | None,
    neurons: str | None,
    scope: str | None,
    keep_a_head: bool,
    like: Path | None,
    out: Path,
    lab: Path,
) -> None:
    """Draw a ticket from SCORES: a run with one search, the folder of a search stage, or its scores.safetensors beside its result.json.

    The name of a recipe means its latest run in --lab that searched, and `latest` the latest of all.

    Which weights it goes with is not known here: it is applied to any without a warning.
    """
    own = {"heads": heads, "neurons": neurons}
    asked = sparsity is not None or None not in own.values()
    given = next((name for name, value in own.items() if value is not None), None)
    if given and not asked and like is None:
        raise UsageError(f"--{'neurons' if given == 'heads' else 'heads'} is missing beside --{given}: 0 keeps all of them")
    if asked == (like is not None) or (like is not None and own != {"heads": None, "neurons": None}):
        raise UsageError("how much is to be left out? Give --sparsity (or --heads and --neurons), or --like with a ticket, and not both")
    file = scores_file(scores, lab)
    ratios = {name: _ratio(name, value) for name, value in {"sparsity": sparsity, **own}.items()}
    found = _search(file)
    scope = scope or found.get("scope") or "global"

    from ticketlab.backbone.head import load_head
    from ticketlab.lab.layout import HEAD
    from ticketlab.tickets import draw as drawing
    from ticketlab.tickets.scores import load_scores
    from ticketlab.tickets.ticket import Ticket

    tensors = load_scores(file)
    if like is None:
        wanted = drawing.for_groups(tensors, ratios["sparsity"], heads=ratios["heads"], neurons=ratios["neurons"])
        if any(ratio is None for ratio in wanted.values()):
            raise UsageError(f"--sparsity is missing: the search scored {' and '.join(wanted)}")
        masks = drawing.draw(tensors, cast("dict[str, float]", wanted), cast("Scope", scope), keep_a_head)
    else:
        wanted = {}
        masks = drawing.draw_like(tensors, Ticket.load(ticket_file(like, lab)).masks)
    known = ("pruner", "objective", "task", "task_fingerprint", "text_fingerprint")
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


def _search(file: Path) -> dict[str, Any]:
    """Return what the search found out about its model."""
    from ticketlab.lab.layout import RESULT, SCORES

    result = file.parent / RESULT
    for needed in (file, result):
        if not needed.is_file():
            raise UsageError(f"{needed}: there is no such file; a finished search stage has {SCORES} and {RESULT} in its folder")
    try:
        found = files.read_json(result)["search"]
        found = {"structure": found["structure"], "found_on": found["found_on"], **found}
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{result}: not the result of a search stage") from None
    integrity.read_result(result)
    return found
