"""draw: turn the scores of a search into a ticket of exactly the asked sparsity."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from attrs import frozen

from ticketlab import files
from ticketlab.backbone import loading
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import expand
from ticketlab.options import ratio, reference, setting
from ticketlab.stages.base import RESULT, SCORES, TICKET, Context, Stage
from ticketlab.tickets.draw import draw, draw_like
from ticketlab.tickets.scores import load_scores
from ticketlab.tickets.ticket import Ticket


@frozen
class Draw(Stage):
    """Remove the units with the lowest scores. Leaves ``ticket.safetensors``."""

    name: ClassVar[str] = "draw"
    summary: ClassVar[str] = "draw a ticket from the scores of a search"
    seeded: ClassVar[bool] = False

    search: str = reference("search", accepts=("search",), help="the search whose scores are ranked")
    sparsity: float = ratio(0.3, help="part of the units to remove")
    scope: Literal["global", "local"] = setting(
        "global", choices=("global", "local"), help="rank all units together, or the units of each matrix (or layer) apart"
    )
    like: str | None = reference(
        None, accepts=("draw",), help="a draw stage or ticket file: remove as many units of each matrix as it does"
    )

    def run(self, context: Context) -> dict[str, Any]:
        """Draw; see :meth:`Stage.run`."""
        search = context.inputs["search"]
        scores = load_scores(search.file(SCORES))
        found = files.read_json(search.file(RESULT))["search"]
        if "like" in context.inputs:
            masks = draw_like(scores, Ticket.load(context.inputs["like"].file(TICKET)).masks)
        else:
            masks = draw(scores, self.sparsity, scope=self.scope)
        pretrained, _ = loading.load_classifier(context.model, context.data.label_names, 0)
        backbone = Backbone(pretrained)
        provenance = {"pruner": found["pruner"], "sparsity": self.sparsity, "scope": self.scope, "like": self.like}
        ticket = Ticket(
            masks=masks,
            structure=found["structure"],
            found_on=found["found_on"],
            rewind_to=backbone.weights_hash(),
            provenance={**provenance, "task": context.data.name, "task_fingerprint": context.data.fingerprint, "key": context.key},
        )
        path = context.directory / TICKET
        ticket.save(path)
        removed = sum(int((~kept).sum()) for kept in expand(backbone, masks).values())
        return {
            "ticket": {
                "asked": ticket.sparsity() if self.like else self.sparsity,
                "achieved": ticket.sparsity(),
                "units": ticket.total(),
                "kept": ticket.kept(),
                "parameters": sum(parameter.numel() for parameter in pretrained.parameters()) - removed,
                "bytes": path.stat().st_size,
            }
        }
