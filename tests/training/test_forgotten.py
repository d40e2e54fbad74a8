"""What components forget: a state, its restoration, parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.core.callback import with_nested
from ticketlab.core.errors import PluginError
from ticketlab.plugin import Adversary, AdversaryRun, Callback, TrainingPlan
from ticketlab.training.begin import begin
from ticketlab.training.forgotten import ForgottenChecks, check_state


class Remembering(Callback):
    """Changes what it remembers in each step by ``change``."""

    def __init__(self, change: Callable[[Any], None]) -> None:
        self.change = change
        self.count, self.average = 0, torch.zeros(2)
        self.history: list[float] = []
        self.critic, self.gate = nn.BatchNorm1d(1), nn.Parameter(torch.ones(1))

    def on_step_start(self, step: int) -> None:
        """Change it."""
        self.change(self)


class Saving(Remembering):
    """Also saves something."""

    def state_dict(self) -> dict[str, Tensor]:
        """Return the average."""
        return {"average": self.average}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore it."""
        self.average = state["average"]


def count(run: Any) -> None:
    run.count += 1


def average(run: Any) -> None:
    run.average = run.average.lerp(torch.ones(2), 0.1)


def average_in_place(run: Any) -> None:
    run.average.lerp_(torch.ones(2), 0.1)


def history(run: Any) -> None:
    run.history.append(0.5)


def batch_norm(run: Any) -> None:
    run.critic(torch.tensor([[1.0], [3.0]]))


def train(run: Any) -> None:
    run.gate.data.mul_(0.5)


def first_step_only(run: Any) -> None:
    run.count = 1


def nothing(run: Any) -> None:
    """Leave all."""


def warnings_after_two_steps(callback: Callback) -> list[str]:
    warnings: list[str] = []
    checks = ForgottenChecks(nn.Linear(1, 1), [callback], [callback], warnings.append)
    checks.on_train_start(torch.optim.SGD([callback.gate] if isinstance(callback, Remembering) else [nn.Parameter(torch.ones(1))], lr=0.1))
    for step in (5, 6, 7):  # a resumed training
        callback.on_step_start(step)
        checks.on_after_backward()
        checks.on_step_end(step)
    return warnings


@pytest.mark.parametrize(
    ("cls", "change", "forgotten"),
    [
        pytest.param(Remembering, count, "count", id="a counter"),
        pytest.param(Remembering, average, "average", id="an average"),
        pytest.param(Remembering, average_in_place, "average", id="an average in place"),
        pytest.param(Remembering, history, "history", id="a list"),
        pytest.param(Remembering, batch_norm, "critic", id="a buffer of a module"),
        pytest.param(Remembering, train, "", id="a trained parameter is in the checkpoint"),
        pytest.param(Remembering, first_step_only, "", id="a flag of the first step"),
        pytest.param(Remembering, nothing, "", id="nothing"),
        pytest.param(Saving, average, "", id="saved"),
    ],
)
def test_values_that_change_and_are_not_saved_cause_one_warning(
    cls: type[Remembering], change: Callable[[Any], None], forgotten: str
) -> None:
    found = warnings_after_two_steps(cls(change))
    assert [warning.partition(" changes from step to step")[0] for warning in found] == (
        [f"`{forgotten}` of {cls.__name__}"] if forgotten else []
    )


class Numbers(Saving):
    """Saves a number."""

    def state_dict(self) -> Any:
        """Return it."""
        return {"count": 3}


class Bare(Saving):
    """Saves no mapping."""

    def state_dict(self) -> Any:
        """Return a tensor."""
        return self.average


class Unrestored(Remembering):
    """Restores nothing."""

    def state_dict(self) -> dict[str, Tensor]:
        """Return the average."""
        return {"average": self.average}


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        pytest.param(Numbers, r"Numbers.state_dict returned `count`, which is int; .*`torch.tensor\(value\)`", id="a number"),
        pytest.param(Bare, "Bare.state_dict returned Tensor; it returns tensors by name", id="no mapping"),
        pytest.param(Unrestored, "Unrestored has a state_dict and no load_state_dict", id="not restored"),
    ],
)
def test_a_state_is_tensors_by_name_and_restored(cls: type[Remembering], message: str) -> None:
    check_state(Saving(nothing))
    with pytest.raises(PluginError, match=message):
        check_state(cls(nothing))


def test_parameters_with_gradients_that_no_optimizer_has_are_refused() -> None:
    run = Remembering(nothing)
    run.critic(torch.tensor([[1.0], [3.0]])).sum().backward()
    with pytest.raises(PluginError, match="`critic` of Remembering has a gradient and is not trained; return it from parameter_groups"):
        warnings_after_two_steps(run)


class Around(Callback):
    """Uses another callback."""

    def __init__(self, inner: Callback, *, tells: bool) -> None:
        self.inner, self.tells = inner, tells

    def nested(self) -> list[Callback]:
        """Return it, or forget it."""
        return [self.inner] if self.tells else []


def test_an_inner_run_that_is_not_nested_is_refused() -> None:
    inner = Saving(nothing)
    for tells in (True, False):
        callbacks = list(with_nested([Around(inner, tells=tells)]))
        checks = ForgottenChecks(nn.Linear(1, 1), callbacks, callbacks, warn=pytest.fail)
        with contextlib.nullcontext() if tells else pytest.raises(PluginError, match=r"`inner` of Around is never called.*from nested"):
            checks.on_step_end(0)


GATE = nn.Parameter(torch.ones(()))


@frozen
class Grouping(Adversary):
    """Returns the groups that a test gives it."""

    name = "grouping"
    summary = "returns groups"
    groups: Any = None

    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        """Begin."""
        groups = self.groups

        class Run(AdversaryRun):
            def parameter_groups(self) -> Any:
                return groups()

        return Run(self)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        pytest.param(lambda: [{"params": GATE, "lr": 0.1}], "returns dicts with a list of parameters", id="a parameter without a list"),
        pytest.param(lambda: [GATE], "returns dicts with a list of parameters", id="no dict"),
        pytest.param(lambda: [{"lr": 0.1}], "returns dicts with a list of parameters", id="no parameters"),
        pytest.param(lambda: [{"params": [torch.ones(1)]}], "cannot be trained; use torch.nn.Parameter", id="a constant"),
        pytest.param(lambda: [{"params": [2 * GATE]}], "cannot be trained", id="a function of a parameter"),
        pytest.param(lambda: [{"params": [nn.Parameter(torch.ones(1))]}], "other parameters at each call", id="new ones"),
    ],
)
def test_groups_of_parameters_are_checked(groups: Any, message: str) -> None:
    plan = TrainingPlan(nn.Linear(1, 1), 1, 0)
    begin(Grouping(groups=lambda: [{"params": iter([GATE]), "lr": 0.1}]), plan, AdversaryRun)
    with pytest.raises(PluginError, match=f"parameter_groups of Run, of the adversary `grouping`, .*{message}"):
        begin(Grouping(groups=groups), plan, AdversaryRun)
