"""A plugin with a component of each kind of a training, and a listener: each breaks where the environment variable ``CRACK`` says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from attrs import frozen
from torch import Tensor

from ticketlab.plugin import (
    Adversary,
    AdversaryRun,
    Batch,
    BiasModel,
    Callback,
    Component,
    Context,
    Example,
    Loss,
    LossFunction,
    LossOutput,
    Metric,
    Monitor,
    Objective,
    Observation,
    Predictions,
    Pruner,
    Search,
    Stage,
    StopRule,
    TrainingContext,
    TrainingLoss,
    TrainingParts,
    TrainingPlan,
    TrainingSession,
    WordVectorSource,
    WrappedLossFunction,
    WrappedSession,
    component,
    hookimpl,
    plain_step,
    reference,
    weight_units,
)


def crack(place: str) -> None:
    """Raise an error if this is the place that is to break."""
    if os.environ.get("CRACK") == place:
        raise ZeroDivisionError(f"a crack\nin {place}")


class Cracked(Callback):
    """Breaks in a method of a callback."""

    kind = ""

    def parameter_groups(self) -> list[dict[str, Any]]:
        crack(f"{self.kind}.parameter_groups")
        return []

    def on_train_start(self, optimizer: torch.optim.Optimizer) -> None:
        crack(f"{self.kind}.on_train_start")

    def on_step_start(self, step: int) -> None:
        crack(f"{self.kind}.on_step_start")

    def on_pass_start(self, index: int) -> None:
        crack(f"{self.kind}.on_pass_start")

    def on_after_backward(self) -> None:
        crack(f"{self.kind}.on_after_backward")

    def penalty(self) -> Tensor | None:
        crack(f"{self.kind}.penalty")
        return None

    def on_step_end(self, step: int) -> bool:
        crack(f"{self.kind}.on_step_end")
        if step == 1:
            crack(f"{self.kind}.second_step")
        return False

    def state_dict(self) -> dict[str, Tensor]:
        crack(f"{self.kind}.state_dict")
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        crack(f"{self.kind}.load_state_dict")

    def metrics(self) -> dict[str, float]:
        crack(f"{self.kind}.metrics")
        return {}


class CrackedSearch(Cracked, Search):
    """Scores weights by their magnitude."""

    kind = "pruner"

    def __init__(self, plan: TrainingPlan) -> None:
        self.plan = plan

    def scores(self) -> Mapping[str, Tensor]:
        crack("pruner.scores")
        return {
            name: torch.rand(shape, generator=torch.Generator().manual_seed(0)) for name, shape in weight_units(self.plan.backbone).items()
        }

    def close(self) -> None:
        crack("pruner.close")


@frozen
class CrackedPruner(Pruner):
    """Breaks."""

    name: ClassVar[str] = "cracked"
    summary: ClassVar[str] = "breaks"
    trains_weights: ClassVar[bool] = True

    def groups(self) -> tuple[str, ...]:
        crack("pruner.groups")
        return ("weights",)

    def begin(self, plan: TrainingPlan) -> Search:
        crack("pruner.begin")
        return CrackedSearch(plan)


class CrackedAdversaryRun(Cracked, AdversaryRun):
    """Takes plain steps."""

    kind = "adversary"

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        crack("adversary.backward")
        return plain_step(loss_function, batch)


@frozen
class CrackedAdversary(Adversary):
    """Breaks."""

    name: ClassVar[str] = "cracked"
    summary: ClassVar[str] = "breaks"

    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        crack("adversary.begin")
        return CrackedAdversaryRun(self)


@frozen
class CrackedLoss(Loss):
    """Breaks."""

    name: ClassVar[str] = "cracked"
    summary: ClassVar[str] = "breaks"

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **loss_inputs: Any) -> tuple[Tensor, Tensor]:
        crack("loss.per_example")
        losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
        return losses, torch.ones_like(losses)

    def reduce(self, losses: Tensor, weights: Tensor) -> Tensor:
        crack("loss.reduce")
        return losses.mean()


class CrackedLossFunction(WrappedLossFunction):
    """The inner loss function."""

    def extend(self, output: LossOutput, batch: Batch) -> LossOutput:
        crack("objective.extend")
        return output


class CrackedSession(WrappedSession):
    """The inner session."""

    def begin(self, plan: TrainingPlan) -> Sequence[Callback]:
        crack("objective.begin")
        return super().begin(plan)

    def loss_function(self, parts: TrainingParts) -> TrainingLoss:
        crack("objective.loss_function")
        return CrackedLossFunction(super().loss_function(parts))

    def evaluate(self) -> dict[str, float]:
        crack("objective.evaluate")
        return super().evaluate()

    def facts(self) -> dict[str, Any]:
        crack("objective.facts")
        return super().facts()


@frozen
class CrackedObjective(Objective):
    """Breaks."""

    name: ClassVar[str] = "cracked"
    summary: ClassVar[str] = "breaks"

    inner: Objective = component("objective", "task", help="the objective")

    def start_session(self, context: TrainingContext) -> TrainingSession:
        crack("objective.start_session")
        return CrackedSession(self.inner.start_session(context))


class CrackedMonitor(Cracked, Monitor):
    """Never stops."""

    kind = "stop rule"

    def observe(self, observation: Observation) -> bool:
        crack("stop rule.observe")
        return False


@frozen
class CrackedStopRule(StopRule):
    """Breaks."""

    name: ClassVar[str] = "cracked"
    summary: ClassVar[str] = "breaks"
    waits: ClassVar[bool] = False

    def begin(self, plan: TrainingPlan) -> Monitor:
        crack("stop rule.begin")
        return CrackedMonitor()


@frozen
class CrackedBiasModel(BiasModel):
    """Breaks."""

    name: ClassVar[str] = "cracked"
    summary: ClassVar[str] = "breaks"

    def features(self, examples: Sequence[Example], words: WordVectorSource) -> Any:
        crack("bias model.features")
        return np.array([[float(len(example.texts[0]))] for example in examples])


@frozen
class CrackedMetric(Metric):
    """Breaks."""

    name: ClassVar[str] = "cracked"
    summary: ClassVar[str] = "breaks"
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    heading: ClassVar[str] = "Cracked"
    percent: ClassVar[bool] = True
    digits: ClassVar[int] = 1

    def compute(self, predictions: Predictions) -> float | None:
        crack("metric.compute")
        return 0.5


@frozen
class CrackedStage(Stage):
    """Breaks."""

    name: ClassVar[str] = "cracked"
    summary: ClassVar[str] = "breaks"
    replaces: ClassVar[tuple[str, ...]] = ()

    model: str = reference("train", accepts=("train", "search"), help="the model")

    def run(self, context: Context) -> dict[str, Any]:
        crack("stage.run")
        return {"numbers": {"one": 1}}


@hookimpl
def ticketlab_pruners() -> list[type[Component]]:
    return [CrackedPruner]


@hookimpl
def ticketlab_adversaries() -> list[type[Component]]:
    return [CrackedAdversary]


@hookimpl
def ticketlab_losses() -> list[type[Component]]:
    return [CrackedLoss]


@hookimpl
def ticketlab_objectives() -> list[type[Component]]:
    return [CrackedObjective]


@hookimpl
def ticketlab_stop_rules() -> list[type[Component]]:
    return [CrackedStopRule]


@hookimpl
def ticketlab_bias_models() -> list[type[Component]]:
    return [CrackedBiasModel]


@hookimpl
def ticketlab_metrics() -> list[type[Component]]:
    return [CrackedMetric]


@hookimpl
def ticketlab_stages() -> list[type[Component]]:
    return [CrackedStage]


@hookimpl
def ticketlab_run_started(run: Any) -> None:
    crack("ticketlab_run_started")


@hookimpl
def ticketlab_stage_started(run: Any, stage: str) -> None:
    crack("ticketlab_stage_started")


@hookimpl
def ticketlab_on_log(run: Any, record: Any) -> None:
    crack("ticketlab_on_log")


@hookimpl
def ticketlab_stage_finished(run: Any, stage: str) -> None:
    crack("ticketlab_stage_finished")


@hookimpl
def ticketlab_run_finished(run: Any, status: str) -> None:
    crack("ticketlab_run_finished")
