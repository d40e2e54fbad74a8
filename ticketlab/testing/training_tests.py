"""The conformance tests of components that take part in a training: determinism, interruptions, state, gradients and the model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
import pytest
import torch
from torch import Tensor

from ticketlab.core.callback import with_nested
from ticketlab.core.component import Component, with_components
from ticketlab.core.errors import SettingError, TrainingDiverged
from ticketlab.core.setting_values import settings_of
from ticketlab.core.settings import component_table
from ticketlab.recipes.recipe import Recipe, build_recipe
from ticketlab.recipes.required_stages import add_required_stages
from ticketlab.testing.component_tests import ComponentTests
from ticketlab.testing.models.model_snapshot import ModelSnapshot
from ticketlab.testing.setting_examples import at_the_bounds, with_other_value
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.process_state import changes_to_process
from ticketlab.testing.trials.recorded_run import Outcome, Runner
from ticketlab.testing.trials.trial import Trial, same_bits, same_state
from ticketlab.testing.trials.workspace import LENGTH, Workspace
from ticketlab.training.batch import Batch
from ticketlab.training.component import TrainingComponent

STAGE = "tested"
"""The name of the stage that the component takes part in."""
PARTS = 3
SAME_GRADIENTS = 1e-3
"""The largest relative difference of gradients that is due to rounding."""
FORGOTTEN = "changes from step to step and is not in a state_dict"


class TrainingTests(ComponentTests):
    """The tests of pruners, adversaries, losses, objectives and stop rules. Subclass the suite of the kind.

    - ``setting``: the setting of a training stage that names a component of the kind.
    - ``stage``: the settings of the stage that the component is tested in.
    - ``other_stages``: those of stages in which it must work too.
    - ``pairs``: whether to train on pairs of texts.
    """

    setting: ClassVar[str]
    stage: ClassVar[Mapping[str, Any]] = {"kind": "train"}
    other_stages: ClassVar[tuple[Mapping[str, Any], ...]] = ({"kind": "search", "start": "pretrained", "pruner": "hard-concrete"},)
    pairs: ClassVar[bool] = False

    @pytest.fixture(autouse=True)
    def _copied_models(self, workspace: Workspace) -> Iterator[None]:
        """Load each tiny model once."""
        with workspace.copied_models():
            yield

    def recipe(self, made: Component, workspace: Workspace, stage: Mapping[str, Any] | None = None) -> Recipe:
        """Return a recipe with a stage in which the component takes part: 6 steps on 24 examples, with a checkpoint after each."""
        training = {"epochs": 2, "batch_size": 8, "lr": 1e-3, "eval_steps": 2, "checkpoint_seconds": 0.0}
        table: dict[str, Any] = {STAGE: {**training, **(stage or self.stage), self.setting: component_table(made)}}
        table = add_required_stages(table)
        for name in table.keys() - {STAGE}:
            table[name] = {**table[name], **({"folds": 2} if table[name]["kind"] == "bias" else {"epochs": 1})}
        shared = {"model": str(workspace.model()), "max_length": LENGTH, "precision": "fp32", "seeds": [0]}
        return build_recipe("conformance", {**table, **shared, "tasks": [workspace.task(pairs=self.pairs or "bias" in table)]})

    def _trial(self, made: Component, workspace: Workspace, **options: Any) -> Trial:
        """Return a training in memory in which the component takes part."""
        pairs = options.pop("pairs", self.pairs)
        model = workspace.model(options.pop("family", "bert"))
        return Trial(model, workspace.data(pairs=pairs), **{self._part: made, **options})

    @property
    def _part(self) -> str:
        """The name of the component among the parts of a trial."""
        return self.setting

    def _runner(self, made: Component, workspace: Workspace, stage: Mapping[str, Any] | None = None) -> Runner:
        """Return what runs the recipe of :meth:`recipe`."""
        return Runner(self.recipe(made, workspace, stage), workspace.root, STAGE)

    def _whole(self, made: Component, workspace: Workspace) -> tuple[Runner, Outcome]:
        """Return the outcome of a run without interruption, which is computed once for each component, and what ran it."""
        key = (type(self), made)
        if key not in workspace.outcomes:
            runner = self._runner(made, workspace)
            workspace.outcomes[key] = runner, runner.whole(seed=1)
        found: tuple[Runner, Outcome] = workspace.outcomes[key]
        return found

    def test_a_repeated_run_has_the_same_bits(self, made: Component, workspace: Workspace) -> None:
        """A run whose result was deleted gives the same bits, whatever ran before and whatever the global random states are."""
        runner, first = self._whole(made, workspace)
        again = runner.whole(seed=2)
        require(
            not (differing := first.difference(again)),
            f"a run that was repeated with the same seed differs in {differing}: draw random numbers from a generator of `plan.seed` or, "
            "in a step, from torch's global generator; keep no state on the class or the module, and use no clock",
        )

    def test_a_run_that_is_killed_in_steps_ends_with_the_same_bits(self, made: Component, workspace: Workspace) -> None:
        """A run that is killed in the middle of its first, a middle and its last step, and resumed each time, gives the same bits."""
        runner, whole = self._whole(made, workspace)
        if not whole.steps:
            pytest.skip("it takes no training steps")
        resumed = runner.interrupted({0, whole.steps // 2, whole.steps - 1}, seed=3)
        require(
            not (differing := whole.difference(resumed)),
            f"a run that was killed and resumed differs in {differing}: return every tensor that the next step depends on from state_dict, "
            "and restore it in load_state_dict",
        )

    def test_no_state_is_forgotten(self, made: Component, workspace: Workspace) -> None:
        """A run that changes from step to step saves what has changed."""
        _, whole = self._whole(made, workspace)
        forgotten = [warning for warning in whole.warnings if FORGOTTEN in warning]
        require(not forgotten, "; ".join(forgotten))

    def test_a_batch_in_parts_has_the_same_gradients(self, made: Component, workspace: Workspace) -> None:
        """The gradients of a batch in micro-batches are those of the whole batch, unless the component declares ``whole_batch``."""
        if any(isinstance(part, TrainingComponent) and part.whole_batch for part in with_components(made)):
            pytest.skip("it needs all rows of a batch at once")
        whole, divided = self._trial(made, workspace), self._trial(made, workspace)
        if not whole.trains:
            pytest.skip("it takes no training steps")
        for trial, parts in ((whole, 1), (divided, PARTS)):
            trial.model.eval()  # no dropout
            trial.backward(trial.batch(), parts=parts)
        for expected, found in zip(whole.gradients(), divided.gradients(), strict=True):
            require(
                float((expected - found).norm()) <= SAME_GRADIENTS * float(expected.norm()) + torch.finfo(torch.float32).eps,
                "the gradients of a batch in parts are not those of the whole batch: draw random numbers for rows by drawn_for_batch, add "
                "only means over rows to a loss, and declare `whole_batch` if rows are compared with each other",
            )

    def test_the_state_that_was_saved_is_restored(self, made: Component, workspace: Workspace) -> None:
        """What ``state_dict`` returned, loaded into a fresh run, is what its ``state_dict`` returns."""
        trial = self._trial(made, workspace)
        if not trial.trains:
            pytest.skip("it takes no training steps")
        trial.train(2)
        saved = [{name: value.clone() for name, value in one.state_dict().items()} for one in self._callbacks(trial)]
        fresh = self._trial(made, workspace)
        fresh.optimizer  # noqa: B018  # starts the training
        for callback, state in zip(self._callbacks(fresh), saved, strict=True):
            callback.load_state_dict({name: value.clone() for name, value in state.items()})
            lost = same_state(state, callback.state_dict())
            require(not lost, f"{type(callback).__name__}.load_state_dict does not restore `{lost}` of state_dict")

    def test_it_works_in_other_stages(self, made: Component, workspace: Workspace) -> None:
        """The component also takes part in a search that freezes the weights, or in one whose adversary makes several passes."""
        for stage in self.other_stages:
            outcome = self._runner(made, workspace, {"epochs": 1, "checkpoint_seconds": 60.0, **stage}).whole(seed=1)
            undefined = [name for name, value in _numbers(outcome.result) if not math.isfinite(value)]
            require(not undefined, f"in the stage {dict(stage)}, `{next(iter(undefined), '')}` of the result is not finite")

    def test_metrics_are_finite_numbers(self, made: Component, workspace: Workspace) -> None:
        """Every number of the history is finite."""
        _, whole = self._whole(made, workspace)
        for name, value in _numbers(whole.result):
            require(
                math.isfinite(value), f"`{name}` of the result is {value}: return finite numbers from metrics, and none that is undefined"
            )

    def test_reading_metrics_changes_nothing(self, made: Component, workspace: Workspace) -> None:
        """``metrics`` is called whenever a number is logged, so it may not change what the next step depends on, or the next metrics."""
        trial = self._trial(made, workspace)
        if not trial.trains:
            pytest.skip("it takes no training steps")
        trial.train(2)
        for callback in self._callbacks(trial):
            before = {name: value.clone() for name, value in callback.state_dict().items()}
            first, second = dict(callback.metrics()), dict(callback.metrics())
            changed = same_state(before, callback.state_dict()) or next((name for name in first if first[name] != second.get(name)), "")
            require(not changed, f"{type(callback).__name__}.metrics changes `{changed}`: let it change nothing, and count in on_step_end")

    @pytest.mark.parametrize("case", ["different lengths", "one row", "a row of padding", "pairs"])
    def test_gradients_are_finite(self, made: Component, workspace: Workspace, case: str) -> None:
        """The loss and all gradients are finite: for rows of different lengths, a single row, a row of padding alone, and pairs."""
        trial = self._trial(made, workspace, **({"pairs": True} if case == "pairs" else {}))
        if not trial.trains:
            pytest.skip("it takes no training steps")
        batch = trial.batch(rows=1 if case == "one row" else 4)
        loss = trial.backward(with_padding(batch, trial, whole=case == "a row of padding") if "pad" in case or "len" in case else batch)
        self._require_finite(trial, loss, f"on {case}")

    def test_it_computes_in_each_precision_that_it_declares(self, made: Component, workspace: Workspace) -> None:
        """In bf16 a step gives about the loss and the gradients of float32, unless ``precisions`` leaves it out."""
        if "bf16" not in made.precisions:
            pytest.skip("`precisions` of the component has no bf16")
        trials = [self._trial(made, workspace, precision=precision) for precision in ("fp32", "bf16")]
        if not trials[0].trains:
            pytest.skip("it takes no training steps")
        losses = [float(trial.backward(trial.batch())) for trial in trials]
        self._require_finite(trials[1], torch.tensor(losses[1]), "in bf16")
        first, second = (torch.cat([gradient.flatten() for gradient in trial.gradients()]) for trial in trials)
        cosine = float(torch.nn.functional.cosine_similarity(first, second, dim=0)) if first.any() else 1.0
        near = math.isclose(*losses, rel_tol=0.1, abs_tol=0.05) and cosine > 0.9
        require(
            near,
            f"a step in bf16 has the loss {losses[1]:.4g}, and {losses[0]:.4g} in float32; the cosine of the gradients is {cosine:.2f}: "
            'compute in float32, or declare `precisions = ("fp32",)`',
        )

    def test_values_at_the_bounds_can_be_used(self, made: Component, workspace: Workspace) -> None:
        """Two steps with each numeric setting at its bounds give finite numbers, or a ``SettingError`` that says why not."""
        for name, value in at_the_bounds(made):
            problem = self._problem_of_training(attrs.evolve(made, **{name: value}), workspace)
            require(not problem, f"with {name} = {value:g}, which its bounds allow, {problem}: declare narrower bounds of `{name}`")

    def test_settings_without_identity_do_not_change_results(self, made: Component, workspace: Workspace) -> None:
        """A setting with ``identity=False`` is not part of the key, so results do not depend on it."""
        for field in settings_of(type(made)):
            other = None if field.metadata["identity"] or field.name in self.required else with_other_value(made, field)
            if other is not None:
                _, first = self._whole(made, workspace)
                _, second = self._whole(other, workspace)
                require(
                    not (differing := first.difference(second)),
                    f"another value of `{field.name}` changes {differing}, and its declaration says that it does not (`identity=False`)",
                )

    def test_a_step_leaves_the_model_to_the_optimizer(self, made: Component, workspace: Workspace) -> None:
        """Up to the update of a step, weights keep their bits, and modules their mode and hooks; so do the states of the parameters."""
        trial = self._trial(made, workspace)
        if not trial.trains:
            pytest.skip("it takes no training steps")
        before = ModelSnapshot.of(trial.model)
        trial.backward(trial.batch())
        self._require_untouched(before, trial.model, "in a step, before the optimizer")

    def test_a_step_leaves_the_process_alone(self, made: Component, workspace: Workspace) -> None:
        """A step neither seeds the global random generators, which later steps draw from, nor changes the working directory."""
        trials = [self._trial(made, workspace) for _ in range(2)]
        if not trials[0].trains:
            pytest.skip("it takes no training steps")
        for trial in trials:
            trial.optimizer  # noqa: B018  # starts the training

        def step(seed: int) -> None:
            trial = trials.pop()
            trial.backward(trial.batch(), self._active_step(made), seed=seed)
            trial.update(self._active_step(made))

        changes = changes_to_process(step)
        require(not changes, f"a step {changes}: draw from it without a seed, or from a `torch.Generator` of your own")

    def _active_step(self, made: Component) -> int:
        """Return a step in which the component does what it is for."""
        return 0

    def test_two_runs_share_no_state(self, made: Component, workspace: Workspace) -> None:
        """What one run does leaves the next one as it is, although both are of the same settings."""
        first, other, second = (self._trial(made, workspace) for _ in range(3))
        if not first.trains:
            pytest.skip("it takes no training steps")
        losses = [float(first.backward(first.batch()))]
        other.train(2)
        losses.append(float(second.backward(second.batch())))
        same = same_bits(first.gradients(), second.gradients()) and losses[0] == losses[1]
        require(same, "a run depends on what another one did: keep state in the object that begin returns, not on the class or the module")

    def _problem_of_training(self, made: Component, workspace: Workspace) -> str:
        """Take two steps. Return what goes wrong; nothing if the settings are refused, or the training diverges and says so."""
        try:
            trial = self._trial(made, workspace)
            losses = trial.train(2) if trial.trains else []
        except (SettingError, TrainingDiverged):
            return ""
        except Exception as problem:
            return f"a step raises {type(problem).__name__} ({problem})"
        finite = all(map(math.isfinite, losses)) and all(bool(parameter.isfinite().all()) for parameter in trial.parameters())
        return "" if finite else "a loss or a parameter is not finite"

    def _callbacks(self, trial: Trial) -> Sequence[Any]:
        """Return the callbacks of a trial whose states are saved."""
        return list(with_nested(trial.callbacks))

    def _require_untouched(self, before: ModelSnapshot, model: Any, when: str) -> None:
        """Require that a model is what it was: the bits of its weights, its parameters and hooks, and what is trained."""
        require(not (weight := before.changed_weight()), f"`{weight}` has other bits {when}: leave the weights of the model alone")
        require(not (left := before.changed_structure(model)), f"{left} is other than before {when}: remove what was added to the model")
        require(not (mode := before.changed_mode(model)), f"{mode} is other than before {when}: restore it")

    def _require_finite(self, trial: Trial, loss: Tensor, when: str) -> None:
        """Require that a loss, and the gradients of all trained parameters, are finite."""
        require(bool(torch.isfinite(loss).all()), f"the loss is {float(loss)} {when}")
        for parameter in trial.parameters():
            finite = parameter.grad is None or bool(parameter.grad.isfinite().all())
            require(finite, f"the gradient of a parameter {tuple(parameter.shape)} is not finite {when}")


def with_padding(batch: Batch, trial: Trial, *, whole: bool) -> Batch:
    """Return a batch whose first row is cut to three tokens, or is padding alone."""
    ids, mask = batch.input_ids.clone(), batch.attention_mask.clone()
    start = 0 if whole else 3
    ids[0, start:], mask[0, start:] = trial.session.rows.pad_id, 0
    return attrs.evolve(batch, input_ids=ids, attention_mask=mask)


def _numbers(value: Any, path: str = "") -> Sequence[tuple[str, float]]:
    """Return the numbers in a result by their paths."""
    if isinstance(value, Mapping):
        return [pair for key, item in value.items() for pair in _numbers(item, f"{path}.{key}".removeprefix("."))]
    if isinstance(value, (list, tuple)):
        return [pair for index, item in enumerate(value) for pair in _numbers(item, f"{path}[{index}]")]
    return [(path, float(value))] if isinstance(value, (int, float)) and not isinstance(value, bool) else []
