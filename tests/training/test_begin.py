"""Beginning a training with a component: what it may not do to the model, to the random numbers and in its first step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.core.errors import PluginError
from ticketlab.plugin import Adversary, AdversaryRun, TrainingPlan
from ticketlab.training.begin import begin
from ticketlab.training.model_state import ModelState, sum_of_bits
from ticketlab.training.step_checks import check_step, checked_metrics


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5))


def plan(of: Any, seed: int = 7) -> TrainingPlan:
    return TrainingPlan(of, steps=1, seed=seed)


class Drawing(AdversaryRun):
    """A run that draws a random number from the global generator."""

    def __init__(self, settings: Adversary) -> None:
        super().__init__(settings)
        self.noise = torch.randn(3)


@frozen
class Draws(Adversary):
    """An adversary that draws when it begins."""

    name = "draws"
    summary = "draws"

    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        """Draw."""
        return Drawing(self)


@frozen
class Nothing(Adversary):
    """An adversary that returns no run."""

    name = "nothing"
    summary = "returns nothing"

    def begin(self, plan: TrainingPlan) -> Any:
        """Return nothing."""


def test_random_numbers_of_begin_depend_on_the_plan_alone_and_move_no_others() -> None:
    trained = model()
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    first = begin(Draws(), plan(trained), Drawing)
    assert torch.equal(torch.rand(2), expected)
    again = begin(Draws(), plan(trained), Drawing)  # the generator has moved since
    assert torch.equal(first.noise, again.noise)
    assert not torch.equal(first.noise, begin(Draws(), plan(trained, seed=8), Drawing).noise)


def test_begin_must_return_its_kind_of_run() -> None:
    with pytest.raises(PluginError, match=r"Nothing.begin returned NoneType, not an AdversaryRun"):
        begin(Nothing(), plan(model()), AdversaryRun)


class WithoutSettings(AdversaryRun):
    """A run whose initialiser forgets that of its base class."""

    def __init__(self) -> None:
        """Do nothing."""


@frozen
class Unset(Adversary):
    """An adversary with such a run."""

    name = "unset"
    summary = "forgets"

    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        """Return it."""
        return WithoutSettings()


def test_a_run_has_the_settings_that_its_base_class_works_with() -> None:
    with pytest.raises(PluginError, match=r"WithoutSettings has no settings: its __init__ calls `super\(\).__init__\(settings\)`"):
        begin(Unset(), plan(model()), AdversaryRun)


def change_weight(of: Any) -> None:
    with torch.no_grad():
        of[0].weight[2, 1] = torch.nextafter(of[0].weight[2, 1], torch.tensor(9.0))


def change_data(of: Any) -> None:
    of[0].weight.data.mul_(2)


def change_buffer(of: Any) -> None:
    of[1].running_mean.add_(1)


def freeze(of: Any) -> None:
    of[0].weight.requires_grad_(False)


def add_gate(of: Any) -> None:
    of.gate = nn.Parameter(torch.ones(1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(change_weight, "the adversary `draws` changed the weights of the model", id="one weight by the least amount"),
        pytest.param(change_data, "changed the weights", id="through .data"),
        pytest.param(change_buffer, "changed the weights", id="a buffer"),
        pytest.param(freeze, "changed in begin which weights are trained", id="frozen"),
        pytest.param(add_gate, r"added `gate` to the model.*parameter_groups", id="a gate on the model"),
    ],
)
def test_a_component_that_changes_the_model_in_begin_is_refused(change: Callable[[Any], None], message: str) -> None:
    trained = model()
    before = ModelState.of(trained)
    before.check(Draws(), trained)
    change(trained)
    with pytest.raises(PluginError, match=message):
        before.check(Draws(), trained)


def add_hook(of: Any) -> None:
    of[0].register_forward_pre_hook(lambda *_: None)


@pytest.mark.parametrize(
    ("change", "trains", "message"),
    [
        pytest.param(add_gate, False, "left `gate` on the model; `close`", id="a gate"),
        pytest.param(add_hook, True, "left a hook on the model", id="a hook"),
        pytest.param(change_weight, False, "does not declare `trains_weights`", id="other bits"),
        pytest.param(change_weight, True, None, id="other bits of trained weights"),
    ],
)
def test_a_search_that_does_not_restore_the_model_is_refused(change: Callable[[Any], None], trains: bool, message: str | None) -> None:
    searched = model()
    before = ModelState.of(searched)
    change(searched)
    if message is None:
        before.check_closed(Draws(), searched, trains_weights=trains)
    else:
        with pytest.raises(PluginError, match=message):
            before.check_closed(Draws(), searched, trains_weights=trains)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64], ids=str)
@pytest.mark.parametrize("size", [0, 1, 7, 33])
def test_the_sum_of_bits_changes_with_every_element(dtype: torch.dtype, size: int) -> None:
    values = torch.zeros(size + 1, dtype=dtype)[1:]  # its memory begins between two words
    assert sum_of_bits(values) == 0
    for index in range(size):
        changed = values.clone()
        changed[index] = 1
        assert sum_of_bits(changed) != 0


def parameter(gradient: Tensor | None) -> Tensor:
    made = nn.Parameter(torch.ones(2))
    made.grad = gradient
    return made


@pytest.mark.parametrize(
    ("loss", "parameters", "message"),
    [
        pytest.param(torch.tensor(1.0), [parameter(None)], "computed no gradients", id="backward is never called"),
        pytest.param(torch.tensor(1.0), [parameter(None), parameter(torch.zeros(2))], None, id="one weight has a gradient"),
        pytest.param(torch.tensor(1.0), [], None, id="nothing is trained"),
        pytest.param(torch.ones(3), [], r"returned a tensor \(3,\), not the loss", id="no scalar"),
        pytest.param(torch.ones((), requires_grad=True), [], "with its graph", id="not detached"),
        pytest.param(None, [], "returned NoneType", id="nothing"),
    ],
)
def test_the_first_step_of_an_adversary_is_checked(loss: Any, parameters: list[Tensor], message: str | None) -> None:
    if message is None:
        check_step("search", loss, parameters)
    else:
        with pytest.raises(PluginError, match=f"search: .*{message}"):
            check_step("search", loss, parameters)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        pytest.param({"loss": 1.0}, "Drawing.metrics returned `loss`, which the history has already", id="the name of the loss"),
        pytest.param({"dev_accuracy": 1.0}, "returned `dev_accuracy`", id="the name of a development score"),
        pytest.param({"gate": torch.ones(1)}, r"returned `gate`, which is Tensor; use float\(value\)", id="a tensor"),
    ],
)
def test_metrics_are_numbers_with_names_of_their_own(metrics: dict[str, Any], message: str) -> None:
    run: Any = Drawing(Draws())
    run.metrics = lambda: {"gate": 0.5, "steps": 3}
    assert checked_metrics(run) == {"gate": 0.5, "steps": 3}
    run.metrics = lambda: metrics
    with pytest.raises(PluginError, match=message):
        checked_metrics(run)
