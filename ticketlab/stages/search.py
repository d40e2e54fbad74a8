"""search: score the prunable units of a model with a pruner, under an adversary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab import progress
from ticketlab.backbone import trial
from ticketlab.backbone.backbone import Backbone
from ticketlab.errors import PluginError
from ticketlab.options import component, ratio, reference, setting
from ticketlab.pruners.base import Plan, Pruner, Search
from ticketlab.stages.base import PRETRAINED, SCORES, Context
from ticketlab.stages.training import Training
from ticketlab.stop_rules.base import StopRule
from ticketlab.stop_rules.stopping import Stopping
from ticketlab.tickets.draw import draw, group_of
from ticketlab.tickets.scores import save_scores
from ticketlab.training.random_state import derive


@frozen
class SearchStage(Training):
    """Train a pruner's parameters and keep its scores, ``scores.safetensors``. The sparsity belongs to ``draw`` alone.

    A stop rule may end the search at the end of any mini-epoch. After each epoch, and at the end, the ticket that would be drawn at
    ``monitor_sparsity`` is evaluated on the development examples: the binary ticket, not the soft masks of the search.
    """

    name: ClassVar[str] = "search"
    summary: ClassVar[str] = "score the prunable units of a model"

    start: str = reference(PRETRAINED, accepts=("train",), help="the model to search in: `pretrained`, a train stage, or a model folder")
    pruner: Pruner = component("pruner", "hard-concrete", help="how units are scored")
    stop: StopRule = component("stop rule", "none", help="when to end before the last epoch")
    epochs: float = setting(20.0, above=0, unit="epochs", help="passes over the training examples, at most")
    weight_decay: float = setting(1e-6, at_least=0, help="AdamW's weight decay on what is trained")
    monitor_sparsity: float = ratio(0.3, identity=False, help="sparsity of the tickets that are evaluated during the search")

    def identity(self) -> dict[str, Any]:
        """Return the settings that count: of a search without steps only where it starts, its pruner and its objective."""
        settings = super().identity()
        return settings if self.pruner.searches else {name: settings[name] for name in ("start", "pruner", "objective")}

    def run(self, context: Context) -> dict[str, Any]:
        """Search; see :meth:`Stage.run`."""
        begun = self.begin(context)
        backbone = Backbone(begun.model)
        structure, found_on = backbone.fingerprint(), backbone.weights_hash()
        steps = max(1, round(-(-len(begun.rows) // self.batch_size) * self.epochs))
        begun.model.requires_grad_(self.pruner.trains_weights)
        if not self.pruner.searches and self.adversary.name != "none":
            progress.say(f"{context.name}: `{self.pruner.name}` scores without training; adversary, loss and epochs have no effect")
        if self.pruner.searches and begun.head == "new":
            progress.say(
                f"{context.name}: the model has no head for `{self.objective.name}`, and scores learnt under a random one mean little; "
                f'start from a train stage with the same objective and `trains = "head"`'
            )
        search = self.pruner.attach(backbone, Plan(steps=steps, seed=derive(context.seed, "gates")))
        _check_scores(self.pruner, search, backbone)
        about = {"pruner": self.pruner.name, "structure": structure, "found_on": found_on, "objective": self.objective.name}
        result: dict[str, Any] = {"search": {"steps": 0, **about, **begun.provenance(), "trainable_parameters": 0}}
        if self.pruner.searches:
            torch.manual_seed(derive(context.seed, "search"))

            def evaluate(step: int) -> dict[str, float]:
                with trial.masked(backbone, draw(search.scores(), self.monitor_sparsity, keep_a_head=False)):  # fits any sparsity
                    return begun.evaluate()

            stopping = Stopping(
                self.stop,
                steps_per_epoch=-(-len(begun.rows) // self.batch_size),
                scores=search.scores,
                development=lambda: evaluate(0)["dev_accuracy"],
                log=lambda record: context.log({**record, "stage": context.name}),
            )
            finished = self.fit(context, begun, lives=[search, stopping], evaluate=evaluate)
            verdict = stopping.verdict(context.name, finished.steps)
            if verdict:
                progress.say(verdict)
            result["search"] |= {"steps": finished.steps, "loss": finished.loss, "history": finished.history, "stop": stopping.report()}
            result["search"]["trainable_parameters"] = finished.parameters
            result |= {"training_seconds": finished.seconds, "earlier_seconds": finished.earlier_seconds}
        save_scores(_check_scores(self.pruner, search, backbone), context.directory / SCORES)
        search.close()
        return result


def _check_scores(pruner: Pruner, search: Search, backbone: Backbone) -> Mapping[str, Tensor]:
    """Return the scores of a search, after making sure that they cover whole groups of units.

    :raises PluginError: they do not; a ticket of fewer units would look like any other.
    """
    if not isinstance(search, Search):
        raise PluginError(f"{type(pruner).__name__}.attach returned {type(search).__name__}, not a Search")
    scores = search.scores()
    if not isinstance(scores, Mapping) or not scores:
        raise PluginError(f"{type(search).__name__}.scores returned {type(scores).__name__}, not a score for each unit")
    known = backbone.units(pooler=True)
    needed = {name for name in backbone.units() if group_of(name) in {group_of(scored) for scored in scores}}
    wrong = [name for name, score in scores.items() if known.get(name) != tuple(score.shape)]
    missing = sorted(needed - set(scores))
    if wrong or missing:
        which = f"`{wrong[0]}` is no unit of this shape" if wrong else f"{len(missing)} are missing, `{missing[0]}` the first"
        raise PluginError(f"the scores of the pruner `{pruner.name}` do not fit the backbone: {which}")
    return scores
