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
from ticketlab.core.references import stage_of
from ticketlab.core.setting_values import settings_of
from ticketlab.core.settings import component, ratio, reference, setting
from ticketlab.inference.random_state import derive_seed
from ticketlab.lab.layout import HEAD, MODEL, SCORES
from ticketlab.objectives.base import TrainingSession
from ticketlab.pruners.base import Pruner, Search
from ticketlab.stages.base import PRETRAINED, Context, Stage, UnusedSetting
from ticketlab.stages.best_checkpoint import BestCheckpoint
from ticketlab.stages.search_snapshots import KEPT_MASKS, KeptMasks, MaskDrawing, MaskSnapshots, ScoreSnapshots
from ticketlab.stages.training_runs import TrainingRuns
from ticketlab.stages.training_stage import Training
from ticketlab.stop_rules.base import Monitor, StopRule
from ticketlab.stop_rules.callback import StopRuleCallback
from ticketlab.stop_rules.mask_distance import MaskDistance
from ticketlab.tasks.trained_on import TrainedOn
from ticketlab.tickets.draw import draw, group_of, removed_share
from ticketlab.tickets.scores import save_scores
from ticketlab.tickets.ticket import HEADS_PER_LAYER
from ticketlab.training.begin import ModelState, begin
from ticketlab.training.plan import TrainingPlan
from ticketlab.training.result import TrainingResult
from ticketlab.training.schedule import steps_per_epoch

OF_BATCHES = ("loss", "bias", "teacher", "teacher_labels", "adversary", "augment", "mix_ood", "batch_size", "accumulate")
"""The settings that the loss of a batch depends on, in addition to the model and the task."""
SCORE, WEIGHT = "score/", "weight/"
GROUPS = ("heads", "neurons", "weights")


@frozen
class SearchStage(Training):
    """Train a pruner's parameters and save its scores, ``scores.safetensors``.

    A stop rule may end the search at the end of any mini-epoch. Evaluations on development examples use the ticket that would be drawn at
    ``sparsity``: the binary ticket, not the soft masks of the search. ``select = "best"`` keeps the scores of the best evaluation. A pruner
    whose result is a finished model (``leaves_model``) also writes that model with the ticket applied, ``model/``.
    """

    name: ClassVar[str] = "search"
    summary: ClassVar[str] = "score the prunable units of a model"
    shown_elsewhere: ClassVar[tuple[str, ...]] = ("keep_masks",)

    start: str = reference(
        PRETRAINED,
        accepts=("train",),
        help="the model to search in: `pretrained`, a train stage (`finetune@500` is a checkpoint), or a model folder",
    )
    pruner: Pruner = component("pruner", "hard-concrete", help="how units are scored")
    stop: StopRule = component("stop rule", "none", help="when to end before the last epoch")
    epochs: float = setting(20.0, above=0, unit="epochs", help="passes over the training examples, at most")
    weight_decay: float = setting(1e-6, at_least=0, help="AdamW's weight decay on what is trained")
    clip_penalty: bool = setting(
        True,
        help="clip the gradient of the pruner's penalty together with that of the loss; false adds it after clipping, as RobusT's "
        "published code does",
    )
    sparsity: float = ratio(0.3, help="sparsity of the tickets that are evaluated, and the target of pruners that have a target sparsity")
    heads: float | None = ratio(None, added_later=True, help="`sparsity` for heads only; none: as `sparsity`")
    neurons: float | None = ratio(None, added_later=True, help="`sparsity` for neurons only; none: as `sparsity`")
    keep_masks: KeptMasks | None = setting(
        None,
        choices=KEPT_MASKS,
        added_later=True,
        help="also keep the mask that would be drawn at the end of each mini-epoch of the stop rule (`looks`) or at each evaluation: "
        "at the sparsities that `mask-distance` compares, else at `sparsity`; none: keep no masks",
    )

    @property
    def selects_on_dev(self) -> bool:
        """Whether development scores decide what is kept, or when the search ends."""
        return super().selects_on_dev or self.stop.judges

    def unused(self) -> dict[str, UnusedSetting]:
        """Return the settings that the pruner does not use: all but start, pruner and objective if it does not train."""
        name = self.pruner.name
        if not self.pruner.searches:
            return self._unused_without_training()
        found = super().unused()
        draws_masks = self.keep_masks is not None and not isinstance(self.stop, MaskDistance)
        if not (self.pruner.needs_sparsity or self.select == "best" or self.stop.judges or draws_masks):
            untargeted = UnusedSetting(f"`{name}` has no target sparsity, and no selection evaluates tickets; set the sparsity of the draw")
            found |= dict.fromkeys(("sparsity", "heads", "neurons"), untargeted)
        found |= {f"pruner.{setting}": UnusedSetting(reason) for setting, reason in self.pruner.unused().items()}
        if not self.pruner.has_penalty:
            found["clip_penalty"] = UnusedSetting(f"`{name}` adds no penalty to the loss")
        if not any(part.learns_at_rate for part in (self.pruner, self.objective, self.loss, self.adversary)):
            found["lr"] = UnusedSetting(f"the weights are frozen, and `{name}` has its own learning rate, `pruner.lr`", harmless=True)
        if self.pruner.groups():
            of_groups = {"heads": "heads", "neurons": "neurons"}
            of_groups |= {f"stop.{field.name}": field.name.partition("_")[0] for field in settings_of(type(self.stop))}
            unscored = {path: group for path, group in of_groups.items() if group in GROUPS and group not in self.pruner.groups()}
            scored = " and ".join(self.pruner.groups())
            found |= {path: UnusedSetting(f"`{name}` scores {scored} and no {group}") for path, group in unscored.items()}
        return found

    def _unused_without_training(self) -> dict[str, UnusedSetting]:
        """Return what a pruner that takes no steps does not use. One that scores batches uses what their loss and rows depend on."""
        trains = UnusedSetting(f"`{self.pruner.name}` scores without training")
        own = {"task", "max_length", "start", "pruner", "objective"}
        own |= {field.name for field in settings_of(type(self)) if not field.metadata["identity"]}
        own |= {"sparsity"} if self.pruner.needs_sparsity else set()
        read = OF_BATCHES if self.pruner.scores_batches else ()
        found = {field.name: trains for field in settings_of(type(self)) if field.name not in own.union(read)}
        return found | {name: unused for name, unused in super().unused().items() if name in read}

    def ineffective(self, stages: Mapping[str, Stage]) -> dict[str, UnusedSetting]:
        """Return :meth:`unused`. An unused sparsity is no reason for a warning if it equals that of the draws."""
        found = super().ineffective(stages)
        own_names = {name for name, stage in stages.items() if stage is self}
        draws = [stage for stage in stages.values() if stage_of(str(getattr(stage, "search", ""))) in own_names]
        for name in ("sparsity", "heads", "neurons"):
            if name in found and {getattr(stage, name, None) for stage in draws} == {getattr(self, name)}:
                found[name] = evolve(found[name], harmless=True)
        if "sparsity" not in found and None not in (self.heads, self.neurons) and set(self.pruner.groups()) == {"heads", "neurons"}:
            found["sparsity"] = UnusedSetting("heads and neurons have their own (`heads`, `neurons`)")
        return found

    def sparsity_of(self, group: str) -> float:
        """Return the sparsity of a group of units: its own if it has one, else the common one."""
        own: float | None = getattr(self, group, None)
        return self.sparsity if own is None else own

    def caveats(self, stages: Mapping[str, Stage]) -> list[str]:
        """Warn if restarted learning rates never leave their warm-up; see :meth:`Stage.caveats`."""
        share = self.pruner.restarts_after
        if share is None or self.warmup < share:
            return []
        return [
            f"`{self.pruner.name}` restarts the learning rates after every {share:g} of the steps, and the warm-up takes "
            f"{self.warmup:g}, so they never stop rising; the published scripts have no warm-up (warmup = 0)"
        ]

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse a pruner that cannot reach the sparsity; see :meth:`Stage.check`."""
        super().check(named)
        try:
            for sparsity in {self.sparsity_of(group): None for group in self.pruner.groups() or GROUPS}:
                self.pruner.check(sparsity)
        except SettingError as problem:
            raise SettingError(f"pruner.{problem}") from None
        if self.stop.draws_earlier and (self.select == "best" or self.pruner.leaves_model):
            other = f"the model that `{self.pruner.name}` produces" if self.pruner.leaves_model else '`select = "best"`'
            raise SettingError(f"stop.draw_at: the ticket comes from an earlier observation, but {other} does not; unset one of them")

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
