"""The conformance tests of losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import attrs
import pytest
import torch
from torch import Tensor

from ticketlab.core.component import Component
from ticketlab.losses.base import KEYWORDS, Loss, LossRun, inputs_of
from ticketlab.testing.training_tests import TrainingTests
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.trial import Trial
from ticketlab.testing.trials.workspace import Workspace
from ticketlab.training.component import outputs_of

ROWS, LENGTH = 5, 6
LARGE = 1e4
"""Logits of this size are 0 or 1 as probabilities."""
CLASSES = (2, 3, 5)


class LossTests(TrainingTests):
    """The tests of a loss. Its inputs from a bias model and a teacher are random probabilities, or those of small stages in runs."""

    component: ClassVar[type[Loss]]
    setting: ClassVar[str] = "loss"

    @pytest.mark.parametrize("classes", CLASSES)
    def test_every_example_has_a_loss_and_a_weight(self, made: Component, workspace: Workspace, classes: int) -> None:
        """Losses and weights are (rows,), finite floats, and no weight is negative: for one row or several, and at every progress."""
        run = self._run(made, workspace, classes)
        for rows in (ROWS, 1):
            logits, labels = examples(rows, classes)
            for progress in (0.0, 0.5, 1.0):
                losses, weights = run(logits, labels, {**self._inputs(made, rows, classes), "progress": progress})
                finite = bool(losses.isfinite().all() and weights.isfinite().all())
                require(finite, f"a loss or a weight is not finite for {rows} rows of {classes} classes")
                require(bool((weights >= 0).all()), "a weight is negative, so that the training maximises the loss of the example")

    def test_the_order_of_the_rows_does_not_matter(self, made: Component, workspace: Workspace) -> None:
        """The loss and the weight of an example do not depend on its place in the batch."""
        run, (logits, labels), inputs = self._run(made, workspace, 3), examples(ROWS, 3), self._inputs(made, ROWS, 3)
        order = torch.tensor([3, 0, 4, 1, 2])
        whole = run(logits, labels, inputs)
        permuted = run(logits[order], labels[order], {name: _permuted(value, order) for name, value in inputs.items()})
        for what, before, after in zip(("loss", "weight"), whole, permuted, strict=True):
            same = torch.allclose(before[order], after, rtol=1e-4, atol=1e-6)
            require(same, f"the {what} of an example depends on its place in the batch")

    @pytest.mark.parametrize("case", ["right", "wrong", "equal"])
    def test_gradients_are_finite_for_extreme_logits(self, made: Component, workspace: Workspace, case: str) -> None:
        """The gradients are finite where a model is certain, or knows nothing, and where the bias model and the teacher are certain."""
        run, (logits, labels) = self._run(made, workspace, 3), examples(ROWS, 3)
        certain = torch.nn.functional.one_hot(labels, 3).float()
        logits = {"right": certain * LARGE, "wrong": -certain * LARGE, "equal": logits * 0}[case].requires_grad_()
        inputs = self._inputs(made, ROWS, 3)
        for extreme in (certain, certain.roll(1, dims=1)):
            probabilities = extreme.clamp(min=1e-6)
            given = {"bias_log_probs": (probabilities / probabilities.sum(dim=1, keepdim=True)).log(), "teacher_probs": extreme}
            losses, weights = run(logits, labels, {**inputs, **{name: value for name, value in given.items() if name in inputs}})
            (gradient,) = torch.autograd.grad(run.reduce(losses, weights), logits)
            finite = bool(gradient.isfinite().all() and losses.isfinite().all())
            require(finite, f"the loss or its gradient is not finite for logits that are {case} and of size {LARGE:g}: use log_softmax")

    def test_the_gradient_reaches_the_logits(self, made: Component, workspace: Workspace) -> None:
        """The losses depend on the logits: nothing of the loss is minimised if they are detached."""
        run, (logits, labels) = self._run(made, workspace, 3), examples(ROWS, 3)
        logits.requires_grad_()
        losses, weights = run(logits, labels, self._inputs(made, ROWS, 3))
        require(losses.requires_grad, "the losses do not depend on the logits: compute them without detach, numpy or no_grad")
        (gradient,) = torch.autograd.grad((losses * weights.detach()).sum(), logits, allow_unused=True)
        require(gradient is not None and bool(gradient.any()), "the losses have no gradient with respect to the logits")

    def test_labels_may_be_sets_of_classes(self, made: Component, workspace: Workspace) -> None:
        """Boolean labels (rows, classes) with one class each give the same as numbers, and sets of several classes are finite."""
        run, (logits, labels), inputs = self._run(made, workspace, 3), examples(ROWS, 3), self._inputs(made, ROWS, 3)
        sets = torch.nn.functional.one_hot(labels, 3).bool()
        for number, one in zip(run(logits, labels, inputs), run(logits, sets, inputs), strict=True):
            same = torch.allclose(number, one, rtol=1e-4, atol=1e-6)
            require(same, "labels as sets of one class give another loss than as numbers: use log_likelihood, which takes both")
        both = sets | sets.roll(1, dims=1)
        finite = all(bool(value.isfinite().all()) for value in run(logits, both, inputs))
        require(finite, "the loss of labels that stand for two classes is not finite")

    def test_the_reduction_is_a_finite_scalar(self, made: Component, workspace: Workspace) -> None:
        """``reduce`` returns a finite scalar, to which examples with a weight of 0 add nothing, under both values of ``reduction``."""
        for reduction in ("weights", "batch"):
            run = self._run(attrs.evolve(cast(Loss, made), reduction=reduction), workspace, 2)
            for weights in (torch.ones(3), torch.tensor([1.0, 0.0, 2.0]), torch.zeros(3)):
                losses = torch.tensor([1.0, 2.0, 6.0], requires_grad=True)
                reduced = run.reduce(losses, weights)
                shown = f"for the weights {weights.tolist()} ({reduction=})"
                require(reduced.ndim == 0, f"reduce returned {tuple(reduced.shape)}, not a scalar")
                require(bool(reduced.isfinite()), f"reduce returned {float(reduced.detach())} {shown}: it may not divide by a sum of 0")
                (gradient,) = torch.autograd.grad(reduced, losses)
                right = bool(gradient.isfinite().all()) and not bool(gradient[weights == 0].any())
                require(right, f"the gradient of reduce is {gradient.tolist()} {shown}: an example with a weight of 0 adds nothing")

    def test_its_inputs_are_left_alone(self, made: Component, workspace: Workspace) -> None:
        """The tensors that it gets have the same values afterwards; other components use them too."""
        run, (logits, labels), inputs = self._run(made, workspace, 3), examples(ROWS, 3), self._inputs(made, ROWS, 3)
        given = {"logits": logits, "labels": labels, **{name: value for name, value in inputs.items() if isinstance(value, Tensor)}}
        before = {name: value.clone() for name, value in given.items()}
        run(logits, labels, inputs)
        changed = [name for name, value in given.items() if not torch.equal(value, before[name])]
        require(not changed, f"the loss changes `{next(iter(changed), '')}` in place: work on a copy")

    def test_several_passes_of_a_step_agree(self, made: Component, workspace: Workspace) -> None:
        """The same pass again has the same loss: an adversary makes several passes in a step."""
        run, (logits, labels), inputs = self._run(made, workspace, 3), examples(ROWS, 3), self._inputs(made, ROWS, 3)
        passes = []
        for _ in range(2):
            torch.manual_seed(0)
            passes.append(run(logits, labels, inputs)[0])
        require(torch.equal(*passes), "the second pass of a step has another loss: change state in on_step_end, and not in per_example")

    def _run(self, made: Component, workspace: Workspace, classes: int) -> LossRun:
        """Return the loss of a training of a model with some classes."""
        data = workspace.data(pairs=self.pairs)
        named = attrs.evolve(data, label_names=tuple(f"label {index}" for index in range(classes)), measures=(), positive_label=None)
        trial = Trial(workspace.model(), named, loss=cast(Loss, made))
        trial.optimizer  # noqa: B018  # starts the training
        assert trial.runs.loss is not None
        return trial.runs.loss

    def _inputs(self, made: Component, rows: int, classes: int) -> dict[str, Any]:
        """Return every input that the loss requires, for some rows."""
        generator = torch.Generator().manual_seed(7)
        probabilities = torch.randn(rows, classes, generator=generator).softmax(dim=1)
        states = tuple(torch.randn(rows, LENGTH, 32, generator=generator) for _ in range(3))
        mask = torch.ones(rows, LENGTH, dtype=torch.long)
        mask[0, 3:] = 0
        every: Mapping[str, Any] = {
            "bias_log_probs": probabilities.log(),
            "teacher_probs": probabilities.flip(1),
            "teacher_hidden_states": states[::-1],
            "hidden_states": states,
            "attention_mask": mask,
            "progress": 0.5,
        }
        needed = {KEYWORDS.get(name, name) for name in inputs_of(made)} | outputs_of([made])
        return {name: value for name, value in every.items() if name in needed | {"progress"}}


def examples(rows: int, classes: int) -> tuple[Tensor, Tensor]:
    """Return random logits (rows, classes) and labels (rows,)."""
    logits = torch.randn(rows, classes, generator=torch.Generator().manual_seed(rows + classes))
    return logits, torch.arange(rows) % classes


def _permuted(value: Any, order: Tensor) -> Any:
    if isinstance(value, tuple):
        return tuple(part[order] for part in value)
    return value[order] if isinstance(value, Tensor) else value
