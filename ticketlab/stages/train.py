"""train: fine-tuning, retraining a ticket, and training a teacher."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from attrs import frozen

from ticketlab.backbone import saving
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import has_new_classifier, new_parameters
from ticketlab.backbone.masks import HoldMaskCallback
from ticketlab.backbone.reinit import reinitialise
from ticketlab.backbone.shrinking import shrink
from ticketlab.core import progress
from ticketlab.core.callback import Callback
from ticketlab.core.settings import reference, setting
from ticketlab.inference.random_state import derive_seed
from ticketlab.lab.layout import MODEL, TICKET, model_folder
from ticketlab.objectives.base import TrainingSession
from ticketlab.stages.base import PRETRAINED, Context, Stage, UnusedSetting
from ticketlab.stages.best_checkpoint import BestCheckpoint
from ticketlab.stages.step_snapshots import StepSnapshots
from ticketlab.stages.training_stage import Training
from ticketlab.tasks.trained_on import TrainedOn
from ticketlab.tickets.draw import removed_share
from ticketlab.tickets.ticket import Ticket
from ticketlab.training.result import TrainingResult


@frozen
class Train(Training):
    """Train all weights, or those of a ticket. Writes ``model/``, a plain transformers model unless heads and neurons were cut out.

    ``reinit`` and ``hold_mask`` are the papers' ablations. ``reinit="inside"`` re-initialises the ticket's weights (without
    initialisation). ``reinit="outside"`` with ``hold_mask=false`` trains the full model with the weights outside the ticket re-initialised
    (without structure).
    """

    name: ClassVar[str] = "train"
    summary: ClassVar[str] = "fine-tune a model, or retrain a ticket"

    start: str = reference(
        PRETRAINED, accepts=("train",), help="`pretrained`, another train stage (`finetune@500` is a checkpoint of it), or a model folder"
    )
    ticket: str | None = reference(
        None, accepts=("draw",), help="a draw stage, a ticket file, or a run, as in `like` of a draw stage: train only what it keeps"
    )
    reinit: Literal["none", "inside", "outside"] = setting(
        "none",
        choices=("none", "inside", "outside"),
        help="re-initialise what is in the ticket, or the rest of the encoder: weights from N(0, 0.02), biases of heads and neurons to 0",
    )
    hold_mask: bool = setting(True, help="keep the removed weights at zero; false trains the full model")
    hold_classifier: bool = setting(
        False,
        help="also apply the ticket's mask of the classifier to a new classifier; the papers' scripts do not when they fine-tune a ticket",
    )
    shrink: bool = setting(
        True, help="cut removed heads and neurons out before training; false holds them at zero. Single weights are always held at zero"
    )
    trains: Literal["all", "head"] = setting(
        "all",
        choices=("all", "head"),
        help="what to train: everything, or only the head, with a frozen encoder; an `mlm` head that the model already has is kept",
    )

    @property
    def shrinks(self) -> bool:
        """Whether it does: with a ticket that is held, unless ``shrink`` is false."""
        return self.ticket is not None and self.hold_mask and self.shrink

    def unused(self) -> dict[str, UnusedSetting]:
        """Return the settings for a ticket if there is none, or if it is not held; see :meth:`Stage.unused`."""
        found = super().unused()
        if self.ticket is None:
            found |= dict.fromkeys(("reinit", "hold_mask", "shrink", "hold_classifier"), UnusedSetting("there is no ticket"))
        elif not self.hold_mask:
            found |= dict.fromkeys(("shrink", "hold_classifier"), UnusedSetting("`hold_mask` is false, so the ticket is not held"))
            if self.reinit == "none":
                found["ticket"] = UnusedSetting("`hold_mask` is false and `reinit` is none, so nothing of the ticket is used")
        return found

    def ineffective(self, stages: Mapping[str, Stage]) -> dict[str, UnusedSetting]:
        """Return :meth:`unused`, and a re-initialisation of what the ticket removes anyway; see :meth:`Stage.ineffective`."""
        found = super().ineffective(stages)
        if self.hold_mask and self.reinit == "outside":
            found.setdefault("reinit", UnusedSetting("what is outside the ticket is removed, unless `hold_mask` is false"))
        return found

    def run(self, context: Context) -> dict[str, Any]:
        """Train; see :meth:`Stage.run`."""
        session = self.start_session(context)
        callbacks, sparsity = self._apply_ticket(context, session)
        if self.trains == "head":
            session.model.base_model.requires_grad_(False)
            for name in new_parameters(session.model):  # the pooler of an encoder that was trained without one
                session.model.get_parameter(name).requires_grad_(True)
        result: dict[str, Any] = {
            "objective": self.objective.name,
            "uses_task": self.uses_task,
            **session.facts(),
            **session.provenance(),
            **self.added_examples(context),
        }
        if sparsity:
            result["sparsity"] = sparsity
        if session.head is not None:
            result |= {"head": "found" if session.head == "found" else "trained", "before": session.evaluate()}
        cost: dict[str, float] = {}
        if self.trains == "head" and session.head == "found":
            progress.say(f"{context.name}: the model already has a head for `{self.objective.name}`; it is kept, and nothing is trained")
            result |= {"steps": 0, "loss": None, "history": [], "trainable_parameters": 0, "after": result["before"]}
        else:
            finished = self._fit(context, session, callbacks)
            result |= {"steps": finished.steps, "loss": finished.loss, "history": finished.history}
            result["trainable_parameters"] = finished.parameters - sum(mask.held for mask in callbacks)
            result |= finished.made_by()
            if session.head is not None:
                result["after"] = session.evaluate()
            cost = {"training_seconds": finished.seconds, "earlier_seconds": finished.earlier_seconds}
        trained_on = self.trained_on(context, session if result["steps"] else None)
        saving.save(session.model, session.tokenizer, context.directory / MODEL, trained_on)
        return {self.name: result, **cost}

    def _apply_ticket(self, context: Context, session: TrainingSession) -> tuple[list[HoldMaskCallback], dict[str, float]]:
        """Apply the ticket to the model, if there is one.

        Returns the callback that holds its mask, if it is held, and the removed fraction of each group of units.
        """
        if "ticket" not in context.inputs:
            return [], {}
        backbone = Backbone(session.model)
        ticket = Ticket.load(context.inputs["ticket"].file(TICKET))
        ticket.check(backbone)
        if not context.inputs["ticket"].inside:  # the recipe that draws a ticket determines the weights that it goes with
            context.warn_if(ticket.doubt(backbone))
        if self.reinit != "none":
            encoder = {name: mask for name, mask in ticket.masks_on(backbone).items() if name in backbone.units()}
            reinitialise(backbone, encoder, inside=self.reinit == "inside", seed=derive_seed(context.seed, "reinit"))
        if not self.hold_mask:
            return [], {}
        if self.shrink and "weights" not in ticket.groups:
            session.model = shrink(session.model, ticket.masks)
            return [], removed_share(ticket.masks)
        masks = ticket.masks_on(backbone, any_classifier=self.hold_classifier, new_classifier=has_new_classifier(session.model))
        left_out = [name.removeprefix("weights/") for name in ticket.masks if name not in masks]
        if left_out:
            progress.say(f"{context.name}: the ticket's masks of {', '.join(left_out)} are not held: the model has another classifier")
        return [HoldMaskCallback(backbone, masks)], removed_share(masks)

    def _fit(self, context: Context, session: TrainingSession, callbacks: Sequence[Callback]) -> TrainingResult:
        """Train. With ``select="best"``, restore the best weights."""
        steps, best = self.steps(session), BestCheckpoint(context.directory)

        def evaluate(step: int) -> dict[str, float]:
            found = session.evaluate()
            self.offer(best, found, step, steps, session.model.state_dict)
            return found | self.challenge_scores(context, session)

        checkpoints = _ModelCheckpoints(context, session, steps, lambda step: self.trained_on(context, session if step else None))
        checkpoints.start_over_if_missed()
        torch.manual_seed(derive_seed(self.seed_of("dropout", context), "train"))
        finished = self.fit(context, session, self.runs(context, session), callbacks=[*callbacks, checkpoints], evaluate=evaluate)
        weights = self.kept(best, context)
        if weights:
            session.model.load_state_dict(weights, strict=True)
        return finished


class _ModelCheckpoints(StepSnapshots):
    """Saves the models that other stages start from, ``model@STEP/``, during the training."""

    def __init__(self, context: Context, session: TrainingSession, steps: int, trained_on: Callable[[int], TrainedOn]) -> None:
        self._session = session
        self._trained_on = trained_on
        super().__init__(context, steps)

    def path(self, at: str) -> Path:
        """Return the folder of a model."""
        return self._directory / model_folder(at)

    def write(self, path: Path, step: int) -> None:
        """Write the model."""
        saving.save(self._session.model, self._session.tokenizer, path, self._trained_on(step))
