"""search: score the prunable units of a model with a pruner, under an adversary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from attrs import evolve, frozen
from torch import Tensor

from ticketlab.backbone import masks, saving, temporary_masks
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.classifier_head import save_head
from ticketlab.core import progress
from ticketlab.core.errors import PluginError, SettingError
from ticketlab.inference.random_state import derive_seed
from ticketlab.lab.layout import HEAD, MODEL, SCORES
from ticketlab.objectives.base import TrainingSession
from ticketlab.pruners.base import Pruner, Search
from ticketlab.stages.base import Context, Stage
from ticketlab.stages.best_checkpoint import BestCheckpoint
from ticketlab.stages.search_settings import GROUPS, SearchSettings
from ticketlab.stages.search_snapshots import MaskDrawing, MaskSnapshots, ScoreSnapshots
from ticketlab.stages.training_runs import TrainingRuns
from ticketlab.stop_rules.base import Monitor
from ticketlab.stop_rules.callback import StopRuleCallback
from ticketlab.tasks.trained_on import TrainedOn
from ticketlab.tickets.draw import draw, group_of, removed_share
from ticketlab.tickets.scores import save_scores
from ticketlab.tickets.ticket import HEADS_PER_LAYER
from ticketlab.training.begin import begin
from ticketlab.training.model_state import ModelState
from ticketlab.training.plan import TrainingPlan
from ticketlab.training.result import TrainingResult
from ticketlab.training.schedule import steps_per_epoch

SCORE, WEIGHT = "score/", "weight/"


@frozen
class SearchStage(SearchSettings):
    """Train a pruner's parameters and save its scores, ``scores.safetensors``.

    A stop rule may end the search at the end of any mini-epoch. Evaluations on development examples use the ticket that would be drawn at
    ``sparsity``: the binary ticket, not the soft masks of the search. ``select = "best"`` keeps the scores of the best evaluation. A pruner
    whose result is a finished model (``leaves_model``) also writes that model with the ticket applied, ``model/``.
    """

    name: ClassVar[str] = "search"
    summary: ClassVar[str] = "score the prunable units of a model"
    shown_elsewhere: ClassVar[tuple[str, ...]] = ("keep_masks",)

    def run(self, context: Context) -> dict[str, Any]:
        """Search; see :meth:`Stage.run`."""
        session = self.start_session(context)
        backbone = Backbone(session.model)
        structure, found_on = backbone.fingerprint(), backbone.weights_hash()
        session.model.requires_grad_(self.pruner.trains_weights)
        self._warn(context, session)
        runs = self.runs(context, session)
        before = ModelState.of(session.model)
        search = self._begin_search(runs)
        sparsities = self._sparsities(_check_scores(self.pruner, search, backbone))
        about: dict[str, Any] = {"pruner": self.pruner.name, "structure": structure, "found_on": found_on, "objective": self.objective.name}
        about |= {HEADS_PER_LAYER: backbone.num_heads}
        scope = {"scope": self.pruner.ranks()} if self.pruner.ranks() else {}
        result: dict[str, Any] = {
            "search": {
                "steps": 0,
                **about,
                **scope,
                **session.facts(),
                **session.provenance(),
                **self.added_examples(context),
                "trainable_parameters": 0,
            }
        }
        best: dict[str, Tensor] = {}
        if self.pruner.searches:
            torch.manual_seed(derive_seed(self.seed_of("dropout", context), "search"))
            finished, found, best = self._fit(context, session, runs, search, sparsities)
            common = self.heads is None and self.neurons is None
            result["search"] |= {"looks_at_sparsity": self.sparsity if common else sparsities}
            result["search"] |= {"steps": finished.steps, "loss": finished.loss, "history": finished.history, **found}
            result["search"] |= finished.made_by()
            result["search"] |= {"planned_steps": self.steps(session), "trainable_parameters": finished.parameters}
            result |= {"training_seconds": finished.seconds, "earlier_seconds": finished.earlier_seconds}
        weights = {name.removeprefix(WEIGHT): value for name, value in best.items() if name.startswith(WEIGHT)}
        if weights:
            session.model.load_state_dict(weights, strict=True)
        scores = {name.removeprefix(SCORE): value for name, value in best.items() if name.startswith(SCORE)}
        scores = scores or dict(_check_scores(self.pruner, search, backbone))
        save_scores(scores, context.directory / SCORES)
        search.close()
        before.check_closed(self.pruner, session.model, trains_weights=self.pruner.trains_weights)
        trained_on = self.trained_on(context, session if self.pruner.searches or self.pruner.scores_batches else None)
        trained_on.save(context.directory)
        encoder = {*backbone.units(), backbone.inner_pooler}
        if self.uses_task and not scores.keys() <= encoder:
            save_head(session.model, context.directory / HEAD)  # masks outside the encoder belong to this classifier
        if self.pruner.leaves_model:
            found_on, sparsity = self._save_model(context, session, backbone, scores, trained_on)
            result["search"] |= {"found_on": found_on, "sparsity": sparsity}
        return result

    def _plan(self, runs: TrainingRuns, part: str, *, scores: bool = False) -> TrainingPlan:
        own = {group: self.sparsity_of(group) for group in GROUPS if getattr(self, group, None) is not None}
        return evolve(runs.plan(part, self.sparsity, scores=scores), sparsities=own)

    def _sparsities(self, scores: Mapping[str, Tensor]) -> dict[str, float]:
        return {group: self.sparsity_of(group) for group in dict.fromkeys(map(group_of, scores))}

    def _warn(self, context: Context, session: TrainingSession) -> None:
        if (self.pruner.searches or self.pruner.scores_batches) and session.head == "new":
            context.warn(
                f"the model has no head for `{self.objective.name}`, and scores learned under a random head mean little; "
                f'start from a train stage with the same objective and `trains = "head"`'
            )

    def _begin_search(self, runs: TrainingRuns) -> Search:
        """Begin the search of the pruner, after the objective, the loss and the adversary if they take part in it."""
        if self.pruner.searches:
            runs.callbacks  # noqa: B018  # begins them
        scores = self.pruner.searches or self.pruner.scores_batches
        plan = self._plan(runs, "gates", scores=scores)
        return begin(self.pruner, plan, Search, adds=True, checked=not self.pruner.trains_weights)

    def _fit(
        self, context: Context, session: TrainingSession, runs: TrainingRuns, search: Search, sparsities: Mapping[str, float]
    ) -> tuple[TrainingResult, dict[str, Any], dict[str, Tensor]]:
        """Train. Return the training result, the facts about its end for the stage's result, and the tensors to keep."""
        backbone, steps, best = Backbone(session.model), self.steps(session), BestCheckpoint(context.directory)

        def development(*, with_challenge_sets: bool = False) -> dict[str, float]:
            ticket = draw(search.scores(), sparsities, self.pruner.ranks() or "global", keep_a_head=False)  # possible at any sparsity
            with temporary_masks.temporarily_masked(backbone, ticket):
                return session.evaluate() | (self.challenge_scores(context, session) if with_challenge_sets else {})

        def state() -> dict[str, Tensor]:
            weights = session.model.state_dict() if self.pruner.trains_weights else {}
            return {SCORE + name: value for name, value in search.scores().items()} | {
                WEIGHT + name: value for name, value in weights.items()
            }

        def evaluate(step: int) -> dict[str, float]:
            found = development(with_challenge_sets=True)
            if search.ready:
                self.offer(best, found, step, steps, state)
            if masks_kept:
                masks_kept.after_evaluation(step)
            return found

        in_epoch = steps_per_epoch(len(session.rows), self.batch_size)
        snapshots = ScoreSnapshots(context, search.scores, steps)
        masks_kept = self._mask_snapshots(context, search, sparsities, steps, in_epoch)
        snapshots.start_over_if_missed()
        stopping = StopRuleCallback(
            self.stop,
            begin(self.stop, self._plan(runs, "stop rule"), Monitor),
            steps_per_epoch=in_epoch,
            scores=search.scores,
            development=lambda: development()["dev_accuracy"],
            log=lambda record: context.log({**record, "stage": context.name}),
        )
        callbacks = [search, stopping, snapshots, *([masks_kept] if masks_kept else [])]
        finished = self.fit(context, session, runs, callbacks=callbacks, evaluate=evaluate, clip_penalty=self.clip_penalty)
        ending = stopping.ending(finished.steps)
        if ending:
            progress.say(f"{context.name}: {ending}")
        for unmet in (stopping.unmet(context.name, finished.steps), search.unmet()):
            if unmet:
                context.warn(unmet)
        earlier = stopping.draw_from()
        kept = {SCORE + name: value for name, value in earlier[1].items()} if earlier else self.kept(best, context)
        facts = {"stop": stopping.report(), **({"masks": masks_kept.save(context)} if masks_kept else {})}
        return finished, facts, kept

    def _mask_snapshots(
        self, context: Context, search: Search, sparsities: Mapping[str, float], steps: int, in_epoch: int
    ) -> MaskSnapshots | None:
        if self.keep_masks is None:
            return None
        length = self.stop.interval * in_epoch if self.keep_masks == "looks" else float(self.eval_steps or in_epoch)
        drawing = MaskDrawing(self.stop, sparsities, self.pruner.ranks() or "global")
        return MaskSnapshots(self.keep_masks, drawing, search.scores, title=context.name, steps=steps, steps_per_snapshot=length)

    def _save_model(
        self, context: Context, session: TrainingSession, backbone: Backbone, scores: Mapping[str, Tensor], trained_on: TrainedOn
    ) -> tuple[str, dict[str, float]]:
        """Save the model with its ticket applied, as ``draw`` draws it.

        Returns the hash of the weights that the ticket and the classifier belong to, and the sparsity by group of units.
        """
        weights_hash = backbone.weights_hash()
        ticket = draw(scores, self._sparsities(scores), self.pruner.ranks() or "global")
        masks.zero_removed(backbone, ticket)
        saving.save(session.model, session.tokenizer, context.directory / MODEL, trained_on)
        if self.uses_task:
            save_head(session.model, context.directory / HEAD)
        return weights_hash, removed_share(ticket)


def check_leaves_model(named: Mapping[str, Stage], field: str = "model") -> None:
    """Refuse a search as the model of a stage unless its pruner produces a model.

    :raises SettingError: it does not.
    """
    stage = named.get(field)
    if isinstance(stage, SearchStage) and not stage.pruner.leaves_model:
        raise SettingError(
            f"{field}: a search with `{stage.pruner.name}` produces scores and no model; draw a ticket, train it, and name that train stage"
        )


def _check_scores(pruner: Pruner, search: Search, backbone: Backbone) -> Mapping[str, Tensor]:
    """Return the scores of a search, after checking that they cover whole groups of units.

    :raises PluginError: they do not. A ticket of fewer units would look like any other.
    """
    scores = search.scores()
    if not isinstance(scores, Mapping) or not scores:
        raise PluginError(f"{type(search).__name__}.scores returned {type(scores).__name__}, not a score for each unit")
    known = backbone.units(pooler=True, classifier=True)
    needed = {name for name in backbone.units() if group_of(name) in {group_of(scored) for scored in scores}}
    wrong = [name for name, score in scores.items() if known.get(name) != tuple(score.shape)]
    missing = sorted(needed - set(scores))
    if wrong or missing:
        which = f"`{wrong[0]}` is not a unit of this shape" if wrong else f"{len(missing)} are missing, `{missing[0]}` the first"
        raise PluginError(f"the scores of the pruner `{pruner.name}` do not fit the backbone: {which}")
    return scores
