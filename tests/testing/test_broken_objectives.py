"""Objectives that silently break their contract fail in the conformance test that is about it."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
import torch
from attrs import frozen
from support.suite_outcomes import failures_of
from torch import Tensor

from ticketlab.plugin import (
    Batch,
    LossFunction,
    LossOutput,
    Objective,
    TrainingContext,
    TrainingLoss,
    TrainingParts,
    TrainingSession,
    WrappedLossFunction,
    WrappedSession,
    component,
)
from ticketlab.testing import ObjectiveTests


class Base(Objective):
    """The task, with the session that a subclass names."""

    name: ClassVar[str] = "broken"
    summary: ClassVar[str] = "the task with a mistake"
    session: ClassVar[type[WrappedSession]]

    def start_session(self, context: TrainingContext) -> TrainingSession:
        return self.session(self.inner.start_session(context))  # type: ignore[attr-defined]


@frozen
class Around(Base):
    inner: Objective = component("objective", "task", help="the objective inside")


def broken(session: type[WrappedSession], **facts: Any) -> type[Objective]:
    return frozen(type(f"Of{session.__name__}", (Around,), {"session": session, "__module__": __name__, **facts}))


class Correct(WrappedSession):
    pass


class NaNInFacts(WrappedSession):
    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "ratio": float("nan")}


class WithoutProvenance(WrappedSession):
    def provenance(self) -> dict[str, str]:
        return {}


class WithoutRows(WrappedSession):
    def __init__(self, inner: TrainingSession) -> None:
        super().__init__(inner)
        self.rows = attrs.evolve(inner.rows, input_ids=[], labels=[], token_type_ids=None)


class UnseededHead(WrappedSession):
    def __init__(self, inner: TrainingSession) -> None:
        super().__init__(inner)
        generator = torch.Generator().manual_seed(int.from_bytes(os.urandom(4), "big"))
        weight = self.model.classifier.weight
        weight.data.copy_(torch.randn(weight.shape, generator=generator))


class GloballySeededHead(WrappedSession):
    def __init__(self, inner: TrainingSession) -> None:
        super().__init__(inner)
        torch.nn.init.normal_(self.model.classifier.weight)


class NoisyEvaluation(WrappedSession):
    def evaluate(self) -> dict[str, float]:
        return {**super().evaluate(), "dev_noise": float(torch.rand(()))}


class LeavesEvaluationMode(WrappedSession):
    def evaluate(self) -> dict[str, float]:
        found = super().evaluate()
        self.model.eval()
        return found


class InPercent(WrappedSession):
    def evaluate(self) -> dict[str, float]:
        return {name: 100 * value for name, value in super().evaluate().items()}


class Halved(WrappedLossFunction):
    """Computes half the loss."""

    def extend(self, output: LossOutput, batch: Batch) -> LossOutput:
        return attrs.evolve(output, loss=output.loss / 2)


class WithoutDelta(Halved):
    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        return super().__call__(batch, None, weights)


class WithoutWeights(Halved):
    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        return super().__call__(batch, delta, None)


class SameModel(Halved):
    def with_model(self, model: Any) -> LossFunction:
        return self


class TwoPasses(Halved):
    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        self.inner(batch, delta, weights)
        return super().__call__(batch, delta, weights)


class UnseededTerm(Halved):
    def extend(self, output: LossOutput, batch: Batch) -> LossOutput:
        return attrs.evolve(output, loss=output.loss * (1 + random.SystemRandom().random()))


def around(function: type[WrappedLossFunction]) -> type[WrappedSession]:
    """Return a session with another loss function."""

    class Session(WrappedSession):
        def loss_function(self, parts: TrainingParts) -> TrainingLoss:
            return function(super().loss_function(parts))

    return Session


HAS = "test_a_session_has_a_model_and_rows"
AGREE = "test_two_sessions_agree"
EVALUATES = "test_evaluations_repeat_and_leave_the_model_alone"
FUNCTION = "test_the_loss_function_does_what_adversaries_need"


@pytest.mark.parametrize(
    ("component", "test", "message"),
    [
        pytest.param(broken(NaNInFacts), HAS, "is no JSON", id="facts"),
        pytest.param(broken(WithoutProvenance), HAS, "provenance() is empty", id="provenance"),
        pytest.param(broken(WithoutRows), HAS, "the session has no rows", id="rows"),
        pytest.param(broken(UnseededHead), AGREE, "use `context.seed`", id="unseeded head"),
        pytest.param(broken(GloballySeededHead), AGREE, "use `context.seed`", id="head of the global generator"),
        pytest.param(broken(NoisyEvaluation), EVALUATES, "evaluate() draws random numbers", id="random evaluation"),
        pytest.param(broken(LeavesEvaluationMode), EVALUATES, "the training mode of", id="evaluation mode"),
        pytest.param(broken(InPercent), EVALUATES, "not a fraction", id="per cent"),
        pytest.param(broken(around(WithoutDelta)), FUNCTION, "a perturbation changes nothing", id="perturbation"),
        pytest.param(broken(around(WithoutWeights)), FUNCTION, "weights of the pass change nothing", id="weights"),
        pytest.param(broken(around(TwoPasses)), FUNCTION, "call it once", id="passes"),
        pytest.param(broken(around(SameModel)), "test_the_loss_of_a_copy_of_the_model", "with_model(model)", id="with_model"),
        pytest.param(broken(around(UnseededTerm)), "test_a_repeated_run_has_the_same_bits", "differs in the bits", id="os.urandom"),
    ],
)
def test_a_breach_is_found(component: type[Objective], test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(ObjectiveTests, test, tmp_path, component=component)
    assert any(message in failure for failure in failures.values()), "\n".join(failures.values())


@pytest.mark.parametrize("test", [HAS, AGREE, EVALUATES, FUNCTION])
def test_a_wrapped_objective_that_keeps_the_contract_passes(test: str, tmp_path: Path) -> None:
    assert not failures_of(ObjectiveTests, test, tmp_path, component=broken(Correct))
