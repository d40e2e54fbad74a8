"""Adversaries that silently break their contract fail in the conformance test that is about it."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from attrs import evolve, frozen
from support.suite_outcomes import failures_of
from torch import Tensor

from ticketlab.plugin import Adversary, AdversaryRun, Batch, LossFunction, TrainingPlan, plain_step, uniform_in_ball
from ticketlab.testing import AdversaryTests

REPEATED = "test_a_repeated_run_has_the_same_bits"
KILLED = "test_a_run_that_is_killed_in_steps_ends_with_the_same_bits"


class Scaled(Adversary):
    """Multiplies the loss by a factor that a subclass chooses."""

    name: ClassVar[str] = "broken"
    summary: ClassVar[str] = "multiplies the loss by a factor"

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        return scaled_step(loss_function, batch, self.factor())

    def factor(self) -> float:
        return 1.0


def scaled_step(loss_function: LossFunction, batch: Batch, factor: float) -> Tensor:
    loss = factor * loss_function(batch).loss
    torch.autograd.backward(loss)
    return loss.detach()


class Noisy(Scaled):
    """Perturbs by uniform noise."""

    magnitude: ClassVar[float] = 0.1

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        loss = loss_function(batch, self.noise(batch, loss_function.embedding_dim)).loss
        torch.autograd.backward(loss)
        return loss.detach()

    def noise(self, batch: Batch, width: int) -> Tensor:
        return uniform_in_ball(batch.attention_mask, width, self.magnitude)


@frozen
class WithoutBackward(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        return loss_function(batch).loss.detach()


@frozen
class TrainsOneMatrix(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        output = loss_function(batch)
        weight = loss_function.model.classifier.weight  # type: ignore[attr-defined]
        weight.grad = torch.autograd.grad(output.loss, weight)[0]
        return output.loss.detach()


@frozen
class ReturnsZero(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        return plain_step(loss_function, batch) * 0


@frozen
class ReturnsAConstant(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        return plain_step(loss_function, batch) * 0 + 0.7


@frozen
class ReseedsTorch(Scaled):
    def factor(self) -> float:
        torch.manual_seed(0)
        return 1.0


@frozen
class ReseedsPython(Scaled):
    def factor(self) -> float:
        random.seed(0)
        return 1.0


@frozen
class ChangesDirectory(Scaled):
    def factor(self) -> float:
        os.chdir("/")
        return 1.0


@frozen
class ClearsGradients(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        loss_function.model.zero_grad()  # type: ignore[attr-defined]
        return plain_step(loss_function, batch)


@frozen
class ReturnsTheGraph(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        loss = loss_function(batch).loss
        torch.autograd.backward(loss, retain_graph=True)
        return loss


@frozen
class DrawsFromPython(Scaled):
    def factor(self) -> float:
        return random.uniform(0.5, 2.0)


@frozen
class DrawsFromTheSystem(Scaled):
    def factor(self) -> float:
        return 1 + random.SystemRandom().random()


@frozen
class ReadsTheClock(Scaled):
    def factor(self) -> float:
        return 1 + torch.rand((), generator=torch.Generator().manual_seed(time.time_ns())).item()


@frozen
class DrawsInBegin(Scaled):
    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        return Fixed(self, 1 + torch.rand((), generator=torch.Generator().manual_seed(int.from_bytes(os.urandom(4), "big"))).item())


class Fixed(AdversaryRun):
    def __init__(self, settings: Adversary, factor: float) -> None:
        super().__init__(settings)
        self._factor = factor

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        return scaled_step(loss_function, batch, self._factor)


class Rising(AdversaryRun):
    """Multiplies the loss by a factor that rises from step to step."""

    def __init__(self, settings: Adversary) -> None:
        super().__init__(settings)
        self._steps = 0
        self._factor = 1.0

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        self._steps += 1
        self._factor = self._factor / 2 + self._steps
        return scaled_step(loss_function, batch, self._factor)


@frozen
class ForgetsItsState(Scaled):
    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        return Rising(self)


class HalfSaved(Rising):
    def state_dict(self) -> dict[str, Tensor]:
        return {"steps": torch.tensor(self._steps)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._steps = int(state["steps"])


@frozen
class SavesHalfItsState(Scaled):
    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        return HalfSaved(self)


class HalfRestored(Rising):
    def state_dict(self) -> dict[str, Tensor]:
        return {"steps": torch.tensor(self._steps), "factor": torch.tensor(self._factor)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._steps = int(state["steps"])


@frozen
class RestoresHalfItsState(Scaled):
    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        return HalfRestored(self)


COUNT = [0]


@frozen
class CountsOnTheModule(Scaled):
    def factor(self) -> float:
        COUNT[0] += 1
        return float(COUNT[0])


@frozen
class CountsOnTheClass(Scaled):
    count: ClassVar[list[int]] = [0]

    def factor(self) -> float:
        self.count[0] += 1
        return float(self.count[0])


@frozen
class PerturbsPadding(Noisy):
    def noise(self, batch: Batch, width: int) -> Tensor:
        return 0.1 * torch.randn(*batch.input_ids.shape, width)


@frozen
class AttendsToPadding(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        return plain_step(loss_function, evolve(batch, attention_mask=torch.ones_like(batch.attention_mask)))


@frozen
class MasksTokensInPlace(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        batch.input_ids[:, 1] = 0
        return plain_step(loss_function, batch)


class CountsReadings(AdversaryRun):
    def __init__(self, settings: Adversary) -> None:
        super().__init__(settings)
        self._readings = torch.zeros(())

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        return scaled_step(loss_function, batch, 1 + float(self._readings))

    def metrics(self) -> dict[str, float]:
        self._readings += 1
        return {}

    def state_dict(self) -> dict[str, Tensor]:
        return {"readings": self._readings}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._readings = state["readings"].clone()


@frozen
class ChangesWhenRead(Scaled):
    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        return CountsReadings(self)


@frozen
class DividesByTheLength(Noisy):
    def noise(self, batch: Batch, width: int) -> Tensor:
        mask = batch.attention_mask.unsqueeze(-1).float()
        return torch.randn(*batch.input_ids.shape, width) * mask / mask.sum(dim=1, keepdim=True)


@frozen
class TooSmallForBF16(Noisy):
    magnitude: ClassVar[float] = 1e-6


@frozen
class MovesAWeight(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        loss_function.model.get_input_embeddings().weight.data[0] += 1e-3  # type: ignore[attr-defined]
        return plain_step(loss_function, batch)


@frozen
class LeavesDropoutOff(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        loss_function.model.eval()  # type: ignore[attr-defined]
        return plain_step(loss_function, batch)


@frozen
class LeavesAHook(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        loss_function.model.register_forward_hook(lambda *_: None)  # type: ignore[attr-defined]
        return plain_step(loss_function, batch)


@frozen
class Freezes(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        done = plain_step(loss_function, batch)
        loss_function.model.get_input_embeddings().requires_grad_(False)  # type: ignore[attr-defined]
        return done


class AtOnce(AdversaryRun):
    def step(self, loss_function: LossFunction, batch: Batch, step: int) -> Tensor:
        return scaled_step(loss_function, batch, 2.0)


@frozen
class IgnoresItsStart(Scaled):
    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        return AtOnce(self)


class Undefined(AdversaryRun):
    def metrics(self) -> dict[str, float]:
        return {"noise": float("nan")}


@frozen
class ReportsNaN(Scaled):
    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        return Undefined(self)


@frozen
class OnlyOfLabels(Scaled):
    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        assert batch.labels.ndim == 1, "labels of a task"
        return plain_step(loss_function, batch)


MINIMISED = "test_the_loss_is_the_one_that_was_minimised"
ALONE = "test_a_step_leaves_the_process_alone"
UNTOUCHED = "test_a_step_leaves_the_model_to_the_optimizer"


@pytest.mark.parametrize(
    ("component", "test", "message"),
    [
        pytest.param(WithoutBackward, "test_every_parameter_gets_its_gradient", "call torch.autograd.backward(loss)", id="no backward"),
        pytest.param(WithoutBackward, REPEATED, "the first step computed no gradients", id="no backward in a run"),
        pytest.param(TrainsOneMatrix, "test_every_parameter_gets_its_gradient", "has no gradient", id="few gradients"),
        pytest.param(ClearsGradients, "test_gradients_are_added_to_those_that_exist", "backward overwrites gradients", id="zero_grad"),
        pytest.param(ReturnsTheGraph, "test_the_loss_is_a_detached_scalar", "`loss.detach()`", id="graph"),
        pytest.param(ReturnsZero, MINIMISED, "backward returned the loss 0", id="no loss"),
        pytest.param(ReturnsAConstant, MINIMISED, "return the loss whose gradients were computed", id="another loss"),
        pytest.param(ReseedsTorch, ALONE, "a step seeds the global generator of torch", id="seeds torch"),
        pytest.param(ReseedsPython, ALONE, "a step seeds the global generator of Python", id="seeds Python"),
        pytest.param(ChangesDirectory, ALONE, "a step changes the working directory", id="working directory"),
        pytest.param(DrawsFromPython, REPEATED, "repeated with the same seed differs in the bits", id="random"),
        pytest.param(DrawsFromTheSystem, REPEATED, "repeated with the same seed differs in the bits", id="os.urandom"),
        pytest.param(ReadsTheClock, REPEATED, "repeated with the same seed differs in the bits", id="clock"),
        pytest.param(DrawsInBegin, REPEATED, "repeated with the same seed differs in the bits", id="drawn in begin"),
        pytest.param(ForgetsItsState, "test_no_state_is_forgotten", "`_steps` of Rising changes from step to step", id="forgotten state"),
        pytest.param(ForgetsItsState, KILLED, "killed and resumed differs in the bits", id="forgotten state, killed"),
        pytest.param(SavesHalfItsState, KILLED, "killed and resumed differs in the bits", id="half a state"),
        pytest.param(RestoresHalfItsState, KILLED, "killed and resumed differs in the bits", id="half restored, killed"),
        pytest.param(RestoresHalfItsState, "test_the_state_that_was_saved_is_restored", "does not restore `factor`", id="half restored"),
        pytest.param(CountsOnTheModule, "test_two_runs_share_no_state", "not on the class or the module", id="state of a module"),
        pytest.param(CountsOnTheClass, "test_two_runs_share_no_state", "not on the class or the module", id="state of a class"),
        pytest.param(CountsOnTheClass, REPEATED, "repeated with the same seed differs in the bits", id="state of a class, repeated"),
        pytest.param(PerturbsPadding, "test_padding_is_not_perturbed", "a perturbation is not zero on padding", id="padding"),
        pytest.param(AttendsToPadding, "test_padding_is_not_perturbed", "a pass attends to padding", id="attention to padding"),
        pytest.param(MasksTokensInPlace, "test_the_batch_is_left_alone", "changes `input_ids` of the batch", id="batch in place"),
        pytest.param(ChangesWhenRead, "test_reading_metrics_changes_nothing", "metrics changes `readings`", id="metrics with effects"),
        pytest.param(DividesByTheLength, "test_padding_is_not_perturbed", "a perturbation is not finite", id="row of padding"),
        pytest.param(DividesByTheLength, "test_gradients_are_finite", "on a row of padding", id="gradients on a row of padding"),
        pytest.param(TooSmallForBF16, "test_perturbations_survive_the_rounding_of_bf16", "is lost in bf16", id="precision"),
        pytest.param(MovesAWeight, UNTOUCHED, "has other bits in a step", id="moved weight"),
        pytest.param(LeavesDropoutOff, UNTOUCHED, "the training mode of", id="dropout"),
        pytest.param(LeavesAHook, UNTOUCHED, "a hook or a parametrization of", id="hook"),
        pytest.param(Freezes, UNTOUCHED, "requires_grad of", id="frozen"),
        pytest.param(IgnoresItsStart, "test_it_trains_plainly_before_its_first_step", "is not a plain one", id="start_step"),
        pytest.param(ReportsNaN, "test_metrics_are_finite_numbers", "noise is nan, which is not a finite number", id="metrics"),
        pytest.param(OnlyOfLabels, "test_it_works_with_any_objective", "labels of a task", id="objective"),
    ],
)
def test_a_breach_is_found(component: type[Any], test: str, message: str, tmp_path: Path) -> None:
    COUNT[0] = 0
    failures = failures_of(AdversaryTests, test, tmp_path, component=component)
    assert any(message in failure for failure in failures.values()), "\n".join(failures.values())
