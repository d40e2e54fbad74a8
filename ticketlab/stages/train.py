"""train: fine-tuning, retraining under a ticket, and teachers, all one stage."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from attrs import frozen
from safetensors.torch import load_file, save_file

from ticketlab import files
from ticketlab.backbone import loading, saving
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.device import pick_device
from ticketlab.backbone.masks import HeldMask
from ticketlab.backbone.reinit import reinitialise
from ticketlab.component import Live
from ticketlab.options import reference, setting
from ticketlab.stages.base import PRETRAINED, TICKET, Context
from ticketlab.stages.training import Training
from ticketlab.tickets.ticket import Ticket
from ticketlab.training.evaluation import predict, scores
from ticketlab.training.random_state import derive


@frozen
class Train(Training):
    """Train all weights, or those of a ticket. Leaves a plain model folder, ``model/``.

    ``reinit`` and ``hold_mask`` are the papers' ablations: ``reinit="inside"`` draws the ticket's weights anew (without initialisation);
    ``reinit="outside"`` with ``hold_mask=false`` trains the full model, the weights outside the ticket drawn anew (without structure).
    """

    name: ClassVar[str] = "train"
    summary: ClassVar[str] = "fine-tune a model, or retrain a ticket"

    start: str = reference(PRETRAINED, accepts=("train",), help="`pretrained`, another train stage, or a model folder")
    ticket: str | None = reference(None, accepts=("draw",), help="a draw stage or a ticket file: train only what it keeps")
    reinit: Literal["none", "inside", "outside"] = setting(
        "none", choices=("none", "inside", "outside"), help="draw encoder weights anew, N(0, 0.02): those the ticket keeps, or the others"
    )
    hold_mask: bool = setting(True, help="keep the removed weights at zero; false trains the full model")
    select: Literal["last", "best"] = setting(
        "last", choices=("last", "best"), help="keep the last weights, or those of the epoch with the best development accuracy"
    )

    def run(self, context: Context) -> dict[str, Any]:
        """Train; see :meth:`Stage.run`."""
        start = context.inputs["start"].model if "start" in context.inputs else context.model
        model, tokenizer = loading.load_classifier(start, context.data.label_names, derive(context.seed, "head"))
        model.to(pick_device())
        lives: list[Live] = []
        if "ticket" in context.inputs:
            backbone = Backbone(model)
            ticket = Ticket.load(context.inputs["ticket"].file(TICKET))
            ticket.check(backbone)
            if self.reinit != "none":
                reinitialise(backbone, ticket.masks, inside=self.reinit == "inside", seed=derive(context.seed, "reinit"))
            if self.hold_mask:
                lives.append(HeldMask(backbone, ticket.masks))
        rows = self.encode(context, tokenizer, "train")
        development = self.encode(context, tokenizer, "dev")
        best = context.directory / "best.safetensors"
        best_score = files.read_json(best.with_suffix(".json")) if best.exists() else -1.0

        def evaluate(step: int) -> dict[str, float]:
            nonlocal best_score
            found = scores(predict(model, development, precision=context.precision).argmax(dim=1), torch.tensor(development.labels))
            if self.select == "best" and found["accuracy"] > best_score:
                best_score = found["accuracy"]
                weights = {name: value.contiguous().cpu() for name, value in model.state_dict().items()}
                files.replace(best, lambda path: save_file(weights, path))
                files.write_json(best.with_suffix(".json"), best_score)
            return {"dev_accuracy": found["accuracy"], "dev_f1": found["f1"]}

        torch.manual_seed(derive(context.seed, "train"))
        finished = self.fit(context, model, rows, lives=lives, lr=self.lr, evaluate=evaluate)
        if self.select == "best":
            model.load_state_dict(load_file(best), strict=True)
            best.unlink()
            best.with_suffix(".json").unlink()
        saving.save(model, tokenizer, context.directory / "model")
        return {
            "train": {
                "steps": finished.steps,
                "loss": finished.loss,
                "history": finished.history,
                "rows": len(rows),
                "truncated": rows.truncated,
            },
            "training_seconds": finished.seconds,
            "earlier_seconds": finished.earlier_seconds,
        }
