"""The conformance tests of adversaries."""

from __future__ import annotations

import math
from typing import Any, ClassVar, cast

import attrs
import pytest
import torch
from torch import Tensor

from ticketlab.adversaries.base import Adversary
from ticketlab.core.component import Component
from ticketlab.objectives.mlm import MaskedLM
from ticketlab.objectives.wrapped import WrappedLossFunction
from ticketlab.testing.training_tests import TrainingTests, with_padding
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.trial import Trial, same_state
from ticketlab.testing.trials.workspace import Workspace
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import LossOutput

SAME_DIRECTION = 0.5
"""The smallest cosine of what an adversary adds to the gradients in two precisions: about 1, and about 0 if it is lost in rounding."""
DISTANCE = 1e-2
"""The length of a small step of the parameters."""
LEAST = 0.1
"""The smallest part of the expected fall of the loss: about 1 for the loss that was minimised, less for one of its terms, 0 for another."""
LATER = 5
"""A step at which an adversary starts."""


class AdversaryTests(TrainingTests):
    """The tests of an adversary."""

    component: ClassVar[type[Adversary]]
    setting: ClassVar[str] = "adversary"

    def test_every_parameter_gets_its_gradient(self, made: Component, workspace: Workspace) -> None:
        """``backward`` computes gradients of all parameters that plain training has gradients of, not all zero."""
        plain, trial = Trial(workspace.model(), workspace.data(pairs=self.pairs)), self._trial(made, workspace)
        plain.backward(plain.batch())
        trial.backward(trial.batch())
        own = dict(trial.model.named_parameters())
        for name, parameter in plain.model.named_parameters():
            gradient = own[name].grad
            if parameter.grad is not None:
                require(gradient is not None, f"`{name}` has no gradient: call torch.autograd.backward(loss) in backward")
                require(bool(cast(Tensor, gradient).any()), f"the gradient of `{name}` is zero: is the loss detached?")

    def test_gradients_are_added_to_those_that_exist(self, made: Component, workspace: Workspace) -> None:
        """``backward`` accumulates gradients, and neither overwrites nor clears them."""
        fresh, trial = self._trial(made, workspace), self._trial(made, workspace)
        for parameter in trial.parameters():
            parameter.grad = torch.ones_like(parameter)
        for one in (fresh, trial):
            one.backward(one.batch())
        for before, after in zip(fresh.gradients(), trial.gradients(), strict=True):
            added = torch.allclose(before + 1, after, rtol=1e-4, atol=1e-5)
            require(added, "backward overwrites gradients that exist: let torch.autograd.backward add to them")

    def test_the_loss_is_a_detached_scalar(self, made: Component, workspace: Workspace) -> None:
        """``backward`` returns the loss that it minimised, without its graph."""
        trial = self._trial(made, workspace)
        loss: Any = trial.backward(trial.batch())
        right = isinstance(loss, Tensor) and loss.numel() == 1 and not loss.requires_grad and loss.is_floating_point()
        require(right, f"backward returned {loss!r:.80}: return the loss as a scalar, `loss.detach()`")

    def test_the_loss_is_the_one_that_was_minimised(self, made: Component, workspace: Workspace) -> None:
        """The loss is finite and positive, and lower after a small step against the gradients: it is logged, and checked for overflow."""
        first, second, step = self._trial(made, workspace), self._trial(made, workspace), self._active_step(made)
        loss = float(first.backward(first.batch(), step))
        require(math.isfinite(loss) and loss > 0, f"backward returned the loss {loss:g}: return the loss of its passes")
        gradients = first.gradients()
        length = float(torch.cat([gradient.flatten() for gradient in gradients]).norm())
        require(length > 0, "backward computed no gradients: call torch.autograd.backward(loss)")
        with torch.no_grad():
            for parameter, gradient in zip(second.parameters(), gradients, strict=True):
                parameter.sub_(gradient * (DISTANCE / length))
        fallen = loss - float(second.backward(second.batch(), step))
        require(
            fallen > LEAST * DISTANCE * length,
            f"the loss that backward returns falls by {fallen:.2g} after a step of {DISTANCE:g} against its gradients, and their norm says "
            f"by about {DISTANCE * length:.2g}: return the loss whose gradients were computed, `loss.detach()`",
        )

    def test_the_batch_is_left_alone(self, made: Component, workspace: Workspace) -> None:
        """The tensors of the batch have the same values afterwards: later passes and other components use them."""
        trial = self._trial(made, workspace)
        batch = trial.batch()
        given = {field.name: getattr(batch, field.name) for field in attrs.fields(Batch)}
        tensors = {name: value for name, value in given.items() if isinstance(value, Tensor)}
        before = {name: value.clone() for name, value in tensors.items()}
        trial.backward(batch, self._active_step(made))
        changed = same_state(before, tensors)
        require(not changed, f"backward changes `{changed}` of the batch in place: work on a copy, attrs.evolve(batch, ...)")

    def test_padding_is_not_perturbed(self, made: Component, workspace: Workspace) -> None:
        """Perturbations are (rows, length, width), finite, and zero on padding."""
        trial = self._trial(made, workspace)
        spy = Spy(trial.loss_function)
        for whole in (False, True):
            batch = with_padding(trial.batch(), trial, whole=whole)
            trial.runs.adversary.step(spy, batch, self._active_step(made))
            require(bool(spy.passes), "backward never called the loss function")
            for other in spy.passes:
                same_shape = other.attention_mask.shape == batch.attention_mask.shape
                hidden = not same_shape or not bool((other.attention_mask > batch.attention_mask).any())
                require(hidden, "a pass attends to padding: leave the attention mask of the batch, or only take tokens away")
            spy.passes.clear()
        for delta, mask in spy.deltas:
            require(bool(delta.isfinite().all()), "a perturbation is not finite on a batch with a row of padding")
            on_padding = delta[mask == 0]
            require(not bool(on_padding.any()), "a perturbation is not zero on padding: multiply it by the attention mask")

    def test_it_trains_plainly_before_its_first_step(self, made: Component, workspace: Workspace) -> None:
        """Before ``start_step`` the gradients are those of plain training."""
        trial = self._trial(attrs.evolve(cast(Adversary, made), start_step=LATER), workspace)
        plain = Trial(workspace.model(), workspace.data(pairs=self.pairs), beside=made)
        for one in (trial, plain):
            one.backward(one.batch(), LATER - 1)
        own = dict(trial.model.named_parameters())
        for name, parameter in plain.model.named_parameters():
            same = parameter.grad is None or (own[name].grad is not None and torch.equal(cast(Tensor, own[name].grad), parameter.grad))
            require(same, "a step before `start_step` is not a plain one: override backward, or let step call plain_step before it")

    def test_perturbations_survive_the_rounding_of_bf16(self, made: Component, workspace: Workspace) -> None:
        """What the adversary adds to plain gradients is about the same in bf16, unless ``precisions`` leaves it out."""
        if "bf16" not in made.precisions:
            pytest.skip("`precisions` of the component has no bf16")
        added = []
        for precision in ("fp32", "bf16"):
            own = self._model_gradients(self._trial(made, workspace, precision=precision))
            plain = self._model_gradients(Trial(workspace.model(), workspace.data(pairs=self.pairs), beside=made, precision=precision))
            added.append(own - plain)
        cosine = float(torch.nn.functional.cosine_similarity(added[0], added[1], dim=0)) if added[0].any() else 1.0
        require(
            cosine > SAME_DIRECTION,
            f"what the adversary adds to the gradients is lost in bf16 (the cosine with float32 is {cosine:.2f}): perturb by more, or "
            'declare `precisions = ("fp32",)`',
        )

    def test_it_works_with_any_objective(self, made: Component, workspace: Workspace) -> None:
        """It also trains a masked language model: the loss function is all that it knows of the objective."""
        objective = MaskedLM(text=str(workspace.text()), dev_rows=4, shortest=1)
        trial = self._trial(made, workspace, objective=objective)
        loss = trial.backward(trial.batch())
        self._require_finite(trial, loss, "of masked language modelling")

    def _active_step(self, made: Component) -> int:
        """Return the first step with perturbations."""
        return int(cast(Adversary, made).start_step)

    @staticmethod
    def _model_gradients(trial: Trial) -> Tensor:
        """Return the gradients of the model of a step without dropout, as one vector."""
        trial.model.eval()
        trial.backward(trial.batch())
        gradients = [(parameter, parameter.grad) for parameter in trial.model.parameters()]
        return torch.cat([(torch.zeros_like(parameter) if grad is None else grad).flatten() for parameter, grad in gradients])


class Spy(WrappedLossFunction):
    """A loss function that keeps the perturbations that it is called with, and the attention masks."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.deltas: list[tuple[Tensor, Tensor]] = []
        self.passes: list[Batch] = []

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Keep the perturbation, and run the pass."""
        self.passes.append(batch)
        if delta is not None:
            self.deltas.append((delta.detach().clone(), batch.attention_mask))
        return super().__call__(batch, delta, weights)
