"""Misspelt methods of components and callbacks are refused when their class is made; helpers are not."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from ticketlab.plugin import (
    Adversary,
    AdversaryRun,
    Callback,
    Loss,
    Monitor,
    Pruner,
    Search,
    StopRule,
    Task,
    TrainingSession,
    WrappedLossFunction,
    WrappedSession,
)


def method(*_: Any) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("base", "name", "meant"),
    [
        pytest.param(Callback, "befor_step", "on_step_start", id="another library's name, misspelt"),
        pytest.param(Callback, "on_step_strat", "on_step_start", id="two letters swapped"),
        pytest.param(Callback, "on_epoch_end", "on_step_end", id="an event that there is not"),
        pytest.param(Search, "parameter_group", "parameter_groups", id="a letter missing"),
        pytest.param(Search, "scors", "scores", id="of a search"),
        pytest.param(Monitor, "observ", "observe", id="of a monitor"),
        pytest.param(AdversaryRun, "bakward", "backward", id="of an adversary"),
        pytest.param(Pruner, "attach", "begin", id="the name of earlier versions"),
        pytest.param(StopRule, "start_monitor", "begin", id="the name of earlier versions, of a stop rule"),
        pytest.param(Loss, "per_exampel", "per_example", id="of a component"),
        pytest.param(Adversary, "backwards", "backward", id="of an adversary's settings"),
        pytest.param(Search, "penatly", "penalty", id="two letters of a short name swapped"),
        pytest.param(Search, "panalty", "penalty", id="another letter in a short name"),
        pytest.param(Task, "laod", "load", id="two letters of four swapped"),
        pytest.param(TrainingSession, "provenence", "provenance", id="of a session"),
        pytest.param(WrappedSession, "loss_functoin", "loss_function", id="of a wrapped session"),
        pytest.param(WrappedLossFunction, "extnd", "extend", id="of a wrapped loss function"),
    ],
)
def test_a_misspelt_method_is_refused_with_the_name_that_was_meant(base: type, name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"Theirs.{name} is never called; did you mean `{meant}`\?"):
        type("Theirs", (base,), {name: method})


@pytest.mark.parametrize(
    ("base", "names"),
    [
        pytest.param(Search, ("ratio", "draw_gates", "_on_step_strat", "state", "score_of", "rest", "losses"), id="helpers"),
        pytest.param(Search, ("scores", "score"), id="beside the method that it is similar to"),
        pytest.param(Pruner, ("begin", "labels"), id="similar to a property that is never overridden"),
    ],
)
def test_a_helper_is_allowed(base: type, names: tuple[str, ...]) -> None:
    cls = type("Theirs", (base,), dict.fromkeys(names, method))
    assert set(names) <= set(vars(cls))


def test_a_method_of_the_authors_own_base_class_may_be_overridden() -> None:
    class Shared(Search):
        def draw_gates(self) -> None:
            """Do nothing."""

    class Theirs(Shared):
        def draw_gates(self) -> None:
            """Do something else."""

    assert Theirs.draw_gates is not Shared.draw_gates


def test_a_setting_may_have_any_name() -> None:
    @frozen
    class Theirs(Pruner):
        rank: int = 3

    assert Theirs().rank == 3
