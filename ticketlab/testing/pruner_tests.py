"""The conformance tests of pruners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast, get_args

import pytest
import torch
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.core.component import Component
from ticketlab.pruners.base import Pruner
from ticketlab.testing.models.model_snapshot import ModelSnapshot
from ticketlab.testing.models.tiny import Family
from ticketlab.testing.training_tests import TrainingTests
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.trial import Trial
from ticketlab.testing.trials.workspace import Workspace
from ticketlab.tickets.draw import draw, group_of, removed_count
from ticketlab.training.loss_function import forward

SPARSITIES = (0.0, 0.1, 1 / 3, 0.7)
GROUPS = ("heads", "neurons", "weights")


class PrunerTests(TrainingTests):
    """The tests of a pruner. ``families`` are the model families that it is tried with, all by default."""

    component: ClassVar[type[Pruner]]
    setting: ClassVar[str] = "pruner"
    stage: ClassVar[Mapping[str, Any]] = {"kind": "search", "start": "pretrained"}
    other_stages: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"kind": "search", "start": "pretrained", "adversary": {"name": "freelb", "steps": 2}},
    )
    families: ClassVar[tuple[Family, ...]] = get_args(Family)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test of ``family`` with each of ``families``."""
        super().pytest_generate_tests(metafunc)
        if "family" in metafunc.fixturenames:
            metafunc.parametrize("family", self.families)

    def test_every_unit_has_a_score(self, made: Component, workspace: Workspace) -> None:
        """Scores are floats on the CPU with the names and shapes of the units, of the groups that ``groups()`` names, and never NaN."""
        trial = self._searched(made, workspace)
        scores = trial.search.scores()
        self._require_scores(made, scores, Backbone(trial.model))

    def test_scores_can_be_read_at_any_time(self, made: Component, workspace: Workspace) -> None:
        """Reading scores changes neither them nor the model, and those that were read keep their values in later steps."""
        trial = self._searched(made, workspace, steps=2)
        weights = ModelSnapshot.of(trial.model)
        first = trial.search.scores()
        kept = {name: score.clone() for name, score in first.items()}
        again = trial.search.scores()
        same = all(torch.equal(score, again[name]) for name, score in kept.items())
        require(same, "scores() returns other scores when it is called again: let it draw and change nothing")
        self._require_untouched(weights, trial.model, "after scores()")
        if trial.trains:
            trial.backward(trial.batch(), 1)
            trial.update(1)
        live = next((name for name, score in kept.items() if not torch.equal(score, first[name])), "")
        require(not live, f"the scores `{live}` change while the search goes on: return a copy, `tensor.clone()`")

    @pytest.mark.parametrize("sparsity", SPARSITIES)
    def test_masks_have_exactly_the_sparsity(self, made: Component, workspace: Workspace, sparsity: float) -> None:
        """Masks drawn from the scores remove exactly the fraction of each group, and a larger sparsity removes a superset."""
        scores = self._scores(made, workspace)
        masks = draw(scores, sparsity, keep_a_head=False)
        smaller = draw(scores, sparsity / 2, keep_a_head=False)
        for group in {group_of(name) for name in scores}:
            of_group = [mask for name, mask in masks.items() if group_of(name) == group]
            removed, total = sum(int((~mask).sum()) for mask in of_group), sum(mask.numel() for mask in of_group)
            expected = removed_count(sparsity, total)
            require(removed == expected, f"a ticket of the sparsity {sparsity:g} removes {removed} of {total} {group}, not {expected}")
        grows = all(bool((smaller[name] | ~mask).all()) for name, mask in masks.items())
        require(grows, "a unit that is removed at a sparsity is kept at a larger one")

    def test_scores_rank_the_units(self, made: Component, workspace: Workspace) -> None:
        """The scores of a group are not all equal: units would be removed in the order of their positions."""
        scores = self._scores(made, workspace)
        for group in dict.fromkeys(map(group_of, scores)):
            values = torch.cat([score.flatten() for name, score in scores.items() if group_of(name) == group])
            require(bool((values != values[0]).any()), f"all scores of {group} are {float(values[0]):g} after training: they rank nothing")

    def test_every_family_is_searched(self, workspace: Workspace, family: Family) -> None:
        """A short search on a tiny model of each family scores its units, and leaves the model as it was."""
        made = self.make()
        trial = self._searched(made, workspace, family=family, steps=2)
        self._require_scores(made, trial.search.scores(), Backbone(trial.model))
        trial.search.close()
        self._require_closed(made, trial)

    def test_close_leaves_the_model_as_it_was(self, made: Component, workspace: Workspace) -> None:
        """After ``close`` the model has its own parameters, hooks and modes; the weights have the same bits unless they are trained."""
        trial = self._searched(made, workspace)
        trial.model.train(self._before_mode(trial))
        trial.search.close()
        self._require_closed(made, trial)

    def test_the_model_has_its_own_weights_between_steps(self, made: Component, workspace: Workspace) -> None:
        """Masks are off at the end of a step, so an evaluation sees the weights of the model."""
        trial = self._trial(made, workspace)
        if not trial.trains:
            pytest.skip("it takes no training steps")
        trial.train(2)
        batch, model = trial.batch(), trial.model.eval()
        with torch.no_grad():
            seen = forward(model, batch, "fp32")
            trial.search.close()
            own = forward(model, batch, "fp32")
        if getattr(made, "rewinding", "never") == "never":
            require(torch.equal(seen, own), "an evaluation between two steps sees masked weights: set `effective` of the masks to None")

    def test_what_it_declares_is_what_it_uses(self, made: Component, workspace: Workspace) -> None:
        """A search uses the sparsity, the learning rate of the stage and a penalty only if the class says so."""
        pruner = cast(Pruner, made)
        trial = self._searched(made, workspace)
        if not pruner.needs_sparsity:
            other = self._searched(made, workspace, sparsity=0.6).search.scores()
            same = all(torch.equal(score, other[name]) for name, score in trial.search.scores().items())
            require(same, "the scores depend on the sparsity of the plan: declare `needs_sparsity = True`, which makes it part of the key")
        if pruner.searches and not pruner.trains_weights and not pruner.learns_at_rate:
            own = all("lr" in group for callback in trial.own_callbacks for group in callback.parameter_groups())
            require(own, "a group of parameters has no `lr`, so it is trained at the rate of the stage: let `learns_at_rate` return True")
        if pruner.searches and not pruner.has_penalty:
            trial.optimizer.zero_grad(set_to_none=True)
            penalties = [callback.penalty() for callback in trial.own_callbacks]
            for callback in trial.own_callbacks:
                callback.add_penalty()
            none = all(penalty is None for penalty in penalties) and all(parameter.grad is None for parameter in trial.parameters())
            require(none, "the search adds a penalty to the loss: leave out `has_penalty = False`")

    def _scores(self, made: Component, workspace: Workspace) -> Mapping[str, Tensor]:
        """Return the scores after the last step of a trial, which runs once for each component."""
        key = (type(self), "scores", made)
        if key not in workspace.outcomes:
            workspace.outcomes[key] = self._searched(made, workspace).search.scores()
        found: Mapping[str, Tensor] = workspace.outcomes[key]
        return found

    def _searched(self, made: Component, workspace: Workspace, **options: Any) -> Trial:
        """Return a trial after its last step."""
        trial = self._trial(made, workspace, **options)
        if trial.trains:
            trial.train()
        return trial

    @staticmethod
    def _before_mode(trial: Trial) -> bool:
        """Return whether the model was in training mode when the search began."""
        return trial.before.training[""]

    def _require_scores(self, made: Component, scores: Mapping[str, Tensor], backbone: Backbone) -> None:
        """Require that scores are those of whole groups of units."""
        pruner = cast(Pruner, made)
        require(isinstance(scores, Mapping) and bool(scores), f"scores() returned {type(scores).__name__}, not a tensor for each unit")
        known = backbone.units(pooler=True, classifier=True)
        needed = {name for name in backbone.units() if group_of(name) in {group_of(scored) for scored in scores}}
        missing = sorted(needed - scores.keys())
        require(not missing, f"scores() has no `{next(iter(missing), '')}`: if one unit of a group is scored, all are")
        for name, score in scores.items():
            require(name in known, f"scores() has `{name}`, which is no unit of the backbone; `backbone.units()` lists them")
            found = f"`{name}` is {str(score.dtype).removeprefix('torch.')} {tuple(score.shape)} on {score.device}"
            right = score.is_floating_point() and tuple(score.shape) == known[name] and score.device.type == "cpu"
            require(right, f"the score {found}: return a float tensor {known[name]} on the CPU")
            require(not score.requires_grad, f"the score `{name}` requires a gradient: detach it")
            require(not bool(score.isnan().any()), f"{int(score.isnan().sum())} scores of `{name}` are NaN")
        groups = set(pruner.groups())
        scored = {group_of(name) for name in scores}
        require(not groups or groups == scored, f"groups() names {sorted(groups)}, and the scores are of {sorted(scored)}: let them agree")

    def _require_closed(self, made: Component, trial: Trial) -> None:
        """Require that a search that was closed has left the model as it was."""
        before, trains = trial.before, cast(Pruner, made).trains_weights
        left = before.changed_structure(trial.model)
        require(not left, f"{left} is on the model after close: remove everything that begin added")
        weight = "" if trains else before.changed_weight()
        require(not weight, f"`{weight}` has other bits after close: restore it, or declare `trains_weights = True`")
        changed = [name for name, tensor in before.tensors.items() if tensor.requires_grad != before.trained[name]]
        require(not changed, f"requires_grad of `{next(iter(changed), '')}` is other than before the search: restore it in close")
