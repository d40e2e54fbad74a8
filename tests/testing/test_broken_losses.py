"""Losses that silently break their contract fail in the conformance test that is about it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from attrs import frozen
from support.suite_outcomes import failures_of
from torch import Tensor, nn

from ticketlab.plugin import Loss, LossRun, TrainingPlan, log_likelihood
from ticketlab.testing import LossTests

Compute = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class Base(Loss):
    """A loss whose arithmetic a subclass replaces."""

    name: ClassVar[str] = "broken"
    summary: ClassVar[str] = "cross-entropy with a mistake"

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        return self.compute(logits, labels)

    def compute(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return cross_entropy(logits, labels)


def cross_entropy(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses = -log_likelihood(logits.log_softmax(dim=1), labels)
    return losses, torch.ones_like(losses)


def broken(compute: Compute, **facts: Any) -> type[Loss]:
    """Return a loss that computes losses and weights by a function."""
    own = {"compute": lambda self, logits, labels: compute(logits, labels), "__module__": __name__, **facts}
    return frozen(type("Broken", (Base,), own))


def mean(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses, weights = cross_entropy(logits, labels)
    return losses.mean(), weights


def column(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses, weights = cross_entropy(logits, labels)
    return losses.unsqueeze(1), weights


def integer_weights(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses, weights = cross_entropy(logits, labels)
    return losses, weights.long()


def one_weight(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses, _ = cross_entropy(logits, labels)
    return losses, torch.ones(())


def negative_weights(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses, _ = cross_entropy(logits, labels)
    return losses, 1 - 2 * (losses.detach() < 1).float()


def detached(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    return cross_entropy(logits.detach(), labels)


def constant(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses, weights = cross_entropy(logits, labels)
    return losses.detach() + 0 * losses, weights


def by_place(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses, weights = cross_entropy(logits, labels)
    return losses, weights * torch.arange(1, len(losses) + 1)


def log_of_softmax(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses = -log_likelihood(logits.softmax(dim=1).log(), labels)
    return losses, torch.ones_like(losses)


def numbers_alone(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses = -logits.log_softmax(dim=1).gather(1, labels.unsqueeze(1)).squeeze(1)
    return losses, torch.ones_like(losses)


def sets_as_the_first(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    return cross_entropy(logits, labels if labels.ndim == 1 else torch.zeros(len(labels), dtype=torch.long))


def in_place(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    logits.data.sub_(logits.data.amax(dim=1, keepdim=True))
    return cross_entropy(logits, labels)


def two_classes(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    return cross_entropy(logits[:, :2], labels)


def deviation(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses, weights = cross_entropy(logits, labels)
    return losses / losses.std(), weights


def unseeded(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    losses, weights = cross_entropy(logits, labels)
    return losses * (1 + random.SystemRandom().random()), weights


@frozen
class IgnoresWeights(Base):
    def reduce(self, losses: Tensor, weights: Tensor) -> Tensor:
        return losses.mean()


@frozen
class DividesByWeights(Base):
    def reduce(self, losses: Tensor, weights: Tensor) -> Tensor:
        return (losses * weights).sum() / weights.sum()


class Fading(LossRun):
    """Multiplies the losses by a factor that falls with each pass."""

    factor = 1.0

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        losses, weights = cross_entropy(logits, labels)
        self.factor = self.factor * 0.5
        return self.factor * losses, weights


@frozen
class FadesByPass(Base):
    def begin(self, plan: TrainingPlan) -> LossRun:
        return Fading(self)


class Power(LossRun):
    """Has a trained power of the losses."""

    def __init__(self, settings: Loss, start: float) -> None:
        super().__init__(settings)
        self.power = nn.Parameter(torch.tensor(start))
        self.seen = 0

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": [self.power], "lr": 0.1}]

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        losses, weights = cross_entropy(logits, labels)
        return losses.clamp(min=1e-3) ** self.power * (1 + self.seen), weights

    def on_step_end(self, step: int) -> bool:
        self.seen += 1
        return False


@frozen
class ForgetsSteps(Base):
    def begin(self, plan: TrainingPlan) -> LossRun:
        return Power(self, 1.0)


class CountsForNothing(Power):
    """Counts the steps, and computes nothing from the count."""

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        losses, weights = cross_entropy(logits, labels)
        return losses.clamp(min=1e-3) ** self.power, weights


@frozen
class HarmlessMemory(Base):
    def begin(self, plan: TrainingPlan) -> LossRun:
        return CountsForNothing(self, 1.0)


@frozen
class DrawnInBegin(Base):
    def begin(self, plan: TrainingPlan) -> LossRun:
        return Power(self, 1 + random.SystemRandom().random())


EVERY = "test_every_example_has_a_loss_and_a_weight"
EXTREME = "test_gradients_are_finite_for_extreme_logits"
SETS = "test_labels_may_be_sets_of_classes"
REDUCED = "test_the_reduction_is_a_finite_scalar"
REPEATED = "test_a_repeated_run_has_the_same_bits"
KILLED = "test_a_run_that_is_killed_in_steps_ends_with_the_same_bits"


@pytest.mark.parametrize(
    ("component", "test", "message"),
    [
        pytest.param(broken(mean), EVERY, "returned losses of float32 ()", id="mean of the batch"),
        pytest.param(broken(column), EVERY, "returned losses of float32 (5, 1)", id="column"),
        pytest.param(broken(integer_weights), EVERY, "returned weights of int64 (5,)", id="integer weights"),
        pytest.param(broken(one_weight), EVERY, "returned weights of float32 ()", id="one weight"),
        pytest.param(broken(negative_weights), EVERY, "negative", id="negative weights"),
        pytest.param(broken(two_classes), EVERY, "index 2 is out of bounds", id="two classes"),
        pytest.param(broken(deviation), EVERY, "not finite", id="single row"),
        pytest.param(broken(detached), "test_the_gradient_reaches_the_logits", "do not depend on the logits", id="detached"),
        pytest.param(broken(constant), "test_the_gradient_reaches_the_logits", "have no gradient", id="no gradient"),
        pytest.param(broken(by_place), "test_the_order_of_the_rows_does_not_matter", "its place in the batch", id="order of rows"),
        pytest.param(broken(log_of_softmax), EXTREME, "not finite", id="log of softmax"),
        pytest.param(broken(numbers_alone), SETS, "gather", id="no sets of labels"),
        pytest.param(broken(sets_as_the_first), SETS, "use log_likelihood", id="sets of labels taken for others"),
        pytest.param(broken(in_place), "test_its_inputs_are_left_alone", "changes `logits` in place", id="in place"),
        pytest.param(IgnoresWeights, REDUCED, "a weight of 0 adds nothing", id="weights ignored"),
        pytest.param(DividesByWeights, REDUCED, "may not divide by a sum of 0", id="no weights"),
        pytest.param(FadesByPass, "test_several_passes_of_a_step_agree", "change state in on_step_end", id="state by pass"),
        pytest.param(broken(unseeded), REPEATED, "differs in the bits", id="os.urandom"),
        pytest.param(DrawnInBegin, REPEATED, "differs in the bits", id="drawn in begin"),
        pytest.param(ForgetsSteps, KILLED, "differs in the bits", id="forgotten state"),
    ],
)
def test_a_breach_is_found(component: type[Loss], test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(LossTests, test, tmp_path, component=component)
    assert any(message in failure for failure in failures.values()), "\n".join(failures.values())


def test_a_broken_contract_is_reported_without_a_traceback_and_an_error_of_the_component_with_one(tmp_path: Path) -> None:
    broken_contract = failures_of(LossTests, EVERY, tmp_path, component=broken(mean))
    assert all(failure.startswith("the loss `broken` returned losses") for failure in broken_contract.values())
    own_error = failures_of(LossTests, SETS, tmp_path, component=broken(numbers_alone))
    assert all("def numbers_alone" in failure for failure in own_error.values())


def test_values_that_matter_to_no_later_step_are_a_warning_and_change_no_bits(tmp_path: Path) -> None:
    assert not failures_of(LossTests, KILLED, tmp_path, component=HarmlessMemory)
    (warning,) = failures_of(LossTests, "test_no_state_is_forgotten", tmp_path, component=HarmlessMemory).values()
    assert "`seen` of CountsForNothing" in warning
    assert "otherwise reset it in on_step_end" in warning
