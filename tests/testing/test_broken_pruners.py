"""Pruners that silently break their contract fail in the conformance test that is about it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from attrs import frozen
from support.suite_outcomes import failures_of
from torch import Tensor, nn

from ticketlab.plugin import Pruner, Search, TrainingPlan, attach_mask, detach_mask, structured_units, weight_units
from ticketlab.testing import PrunerTests


class Magnitudes(Search):
    """Scores weights by their magnitude."""

    def __init__(self, plan: TrainingPlan) -> None:
        self.plan = plan
        self.backbone = plan.backbone

    def scores(self) -> Mapping[str, Tensor]:
        return {name: self.score(self.backbone.weight(name).detach()) for name in weight_units(self.backbone)}

    def score(self, weight: Tensor) -> Tensor:
        return weight.abs()


class Base(Pruner):
    """Scores weights after a training of the weights, by the search that a subclass names."""

    name: ClassVar[str] = "broken"
    summary: ClassVar[str] = "scores weights by their magnitude"
    trains_weights: ClassVar[bool] = True
    has_penalty: ClassVar[bool] = False
    search: ClassVar[type[Magnitudes]] = Magnitudes

    def begin(self, plan: TrainingPlan) -> Search:
        return self.search(plan)


def broken(search: type[Magnitudes], **facts: Any) -> type[Pruner]:
    """Return a pruner with a search, and the class attributes ``facts``."""
    return frozen(type(f"Of{search.__name__}", (Base,), {"search": search, "__module__": __name__, **facts}))


class Integers(Magnitudes):
    def score(self, weight: Tensor) -> Tensor:
        return (weight.abs() * 1000).long()


class Flat(Magnitudes):
    def score(self, weight: Tensor) -> Tensor:
        return weight.abs().flatten()


class NotNumbers(Magnitudes):
    def score(self, weight: Tensor) -> Tensor:
        return weight.log()


class AllEqual(Magnitudes):
    def score(self, weight: Tensor) -> Tensor:
        return torch.zeros_like(weight)


class Aliases(Magnitudes):
    def scores(self) -> Mapping[str, Tensor]:
        return {name: self.backbone.weight(name).detach() for name in weight_units(self.backbone)}


class DrawsScores(Magnitudes):
    def score(self, weight: Tensor) -> Tensor:
        return torch.rand(weight.shape)


class WithoutTheLast(Magnitudes):
    def scores(self) -> Mapping[str, Tensor]:
        found = dict(super().scores())
        del found[list(found)[-1]]
        return found


class HeadsAlone(Magnitudes):
    def scores(self) -> Mapping[str, Tensor]:
        units = structured_units(self.backbone)
        return {name: torch.arange(shape[0]).float() for name, shape in units.items() if name.startswith("heads/")}


class UnseededScores(Magnitudes):
    def __init__(self, plan: TrainingPlan) -> None:
        super().__init__(plan)
        self.shift = random.SystemRandom().random()

    def score(self, weight: Tensor) -> Tensor:
        return (weight + self.shift).abs()


class UnseededSteps(Magnitudes):
    @torch.no_grad()
    def on_step_end(self, step: int) -> bool:
        self.backbone.layers[0].query.weight.add_(random.random())
        return False


class ForgetsMovement(Magnitudes):
    """Sums up how far weights move, and does not save it."""

    def __init__(self, plan: TrainingPlan) -> None:
        super().__init__(plan)
        self.before = {name: self.backbone.weight(name).detach().clone() for name in weight_units(self.backbone)}
        self.moved = {name: torch.zeros_like(weight) for name, weight in self.before.items()}

    def on_step_end(self, step: int) -> bool:
        for name, moved in self.moved.items():
            moved += (self.backbone.weight(name).detach() - self.before[name]).abs()
        return False

    def scores(self) -> Mapping[str, Tensor]:
        return {name: moved.clone() for name, moved in self.moved.items()}


class SavesOneMatrix(ForgetsMovement):
    def state_dict(self) -> dict[str, Tensor]:
        return dict(list(self.moved.items())[:1])

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, value in state.items():
            self.moved[name].copy_(value)


class ReadsTheSparsity(Magnitudes):
    def score(self, weight: Tensor) -> Tensor:
        return (weight.abs() - self.plan.sparsity).abs()


class AddsAPenalty(Magnitudes):
    def penalty(self) -> Tensor:
        return self.backbone.weight(next(iter(weight_units(self.backbone)))).square().sum()


class Masked(Magnitudes):
    """Trains a mask of one matrix, with the weights frozen."""

    def __init__(self, plan: TrainingPlan) -> None:
        super().__init__(plan)
        self.matrix = self.backbone.layers[0].query
        self.mask = nn.Parameter(torch.rand(self.matrix.weight.shape, generator=torch.Generator().manual_seed(plan.seed)))
        self.masked = attach_mask(self.matrix)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": [self.mask], "lr": 0.1}]

    def on_step_start(self, step: int) -> None:
        original = self.matrix.parametrizations.weight.original
        self.masked.effective = (original * self.mask).detach().requires_grad_()

    def on_after_backward(self) -> None:
        effective = self.masked.effective
        assert effective is not None
        self.mask.grad = effective.grad
        self.masked.effective = None

    def close(self) -> None:
        detach_mask(self.matrix)


class LeavesTheMaskOn(Masked):
    def on_after_backward(self) -> None:
        assert self.masked.effective is not None
        self.mask.grad = self.masked.effective.grad


class LeavesTheMaskAtTheEnd(Masked):
    def close(self) -> None: ...


class RateOfTheStage(Masked):
    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": [self.mask]}]


class MovesAWeightAtTheEnd(Masked):
    @torch.no_grad()
    def close(self) -> None:
        super().close()
        self.matrix.weight[0, 0] += 1


class LeavesAHook(Masked):
    def __init__(self, plan: TrainingPlan) -> None:
        super().__init__(plan)
        self.backbone.layers[0].key.register_forward_hook(lambda *_: None)


class LeavesWeightsTrained(Masked):
    def close(self) -> None:
        super().close()
        self.matrix.requires_grad_(True)


class OnlyBert(Magnitudes):
    def __init__(self, plan: TrainingPlan) -> None:
        super().__init__(plan)
        self.first = plan.model.bert.encoder.layer[0]


class MovesAWeightInBegin(Masked):
    def __init__(self, plan: TrainingPlan) -> None:
        with torch.no_grad():
            plan.backbone.layers[0].query.weight[0, 0] += 1
        super().__init__(plan)


@frozen
class ClaimsNoRate(Base):
    trains_weights: ClassVar[bool] = False
    search: ClassVar[type[Magnitudes]] = RateOfTheStage

    @property
    def learns_at_rate(self) -> bool:
        return False


@frozen
class NamesOtherGroups(Base):
    def groups(self) -> tuple[str, ...]:
        return ("heads", "neurons")


SCORES = "test_every_unit_has_a_score"
CLOSED = "test_close_leaves_the_model_as_it_was"
DECLARED = "test_what_it_declares_is_what_it_uses"
REPEATED = "test_a_repeated_run_has_the_same_bits"
KILLED = "test_a_run_that_is_killed_in_steps_ends_with_the_same_bits"
FROZEN = {"trains_weights": False}


@pytest.mark.parametrize(
    ("component", "test", "message"),
    [
        pytest.param(broken(Integers), SCORES, "return a float tensor", id="integers"),
        pytest.param(broken(Flat), SCORES, "return a float tensor", id="shape"),
        pytest.param(broken(NotNumbers), SCORES, "are NaN", id="nan"),
        pytest.param(broken(WithoutTheLast), SCORES, "if one unit of a group is scored, all are", id="missing unit"),
        pytest.param(broken(HeadsAlone, groups=lambda self: ("heads", "neurons")), SCORES, "let them agree", id="missing group"),
        pytest.param(NamesOtherGroups, SCORES, "let them agree", id="groups"),
        pytest.param(broken(AllEqual), "test_scores_rank_the_units", "they rank nothing", id="equal scores"),
        pytest.param(broken(Aliases), "test_scores_can_be_read_at_any_time", "return a copy", id="aliases"),
        pytest.param(broken(DrawsScores), "test_scores_can_be_read_at_any_time", "when it is called again", id="drawn scores"),
        pytest.param(broken(UnseededScores), REPEATED, "differs in the file `scores.safetensors`", id="unseeded begin"),
        pytest.param(broken(UnseededSteps), REPEATED, "differs in the bits", id="unseeded step"),
        pytest.param(broken(ForgetsMovement), KILLED, "differs in the file `scores.safetensors`", id="forgotten state"),
        pytest.param(broken(SavesOneMatrix), KILLED, "differs in the file `scores.safetensors`", id="half a state"),
        pytest.param(broken(ReadsTheSparsity), DECLARED, "declare `needs_sparsity = True`", id="sparsity"),
        pytest.param(broken(AddsAPenalty), DECLARED, "leave out `has_penalty = False`", id="penalty"),
        pytest.param(ClaimsNoRate, DECLARED, "let `learns_at_rate` return True", id="learning rate"),
        pytest.param(broken(MovesAWeightInBegin, **FROZEN), SCORES, "changed the weights of the model in begin", id="weights in begin"),
        pytest.param(broken(LeavesTheMaskOn, **FROZEN), "test_the_model_has_its_own_weights_between_steps", "masked weights", id="mask on"),
        pytest.param(broken(LeavesTheMaskAtTheEnd, **FROZEN), CLOSED, "is on the model after close", id="parametrization"),
        pytest.param(broken(LeavesAHook, **FROZEN), CLOSED, "a hook or a parametrization", id="hook"),
        pytest.param(broken(MovesAWeightAtTheEnd, **FROZEN), CLOSED, "has other bits after close", id="weights in close"),
        pytest.param(broken(LeavesWeightsTrained, **FROZEN), CLOSED, "restore it in close", id="requires_grad"),
        pytest.param(broken(OnlyBert), "test_every_family_is_searched", "has no attribute 'bert'", id="family"),
    ],
)
def test_a_breach_is_found(component: type[Pruner], test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(PrunerTests, test, tmp_path, component=component, families=("gpt2",))
    assert any(message in failure for failure in failures.values()), "\n".join(failures.values())


@pytest.mark.parametrize("test", [SCORES, CLOSED, DECLARED, REPEATED, KILLED, "test_the_model_has_its_own_weights_between_steps"])
def test_a_trained_mask_that_keeps_the_contract_passes(test: str, tmp_path: Path) -> None:
    assert not failures_of(PrunerTests, test, tmp_path, component=broken(Masked, **FROZEN))
