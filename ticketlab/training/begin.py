"""Begins a training with a component, and checks that the component keeps its contract: the same random numbers, the same model."""

from __future__ import annotations

from types import NoneType
from typing import Any, TypeVar

from torch import Tensor

from ticketlab.core.callback import Callback, with_nested
from ticketlab.core.errors import PluginError
from ticketlab.inference import random_state
from ticketlab.training.component import TrainingComponent
from ticketlab.training.model_state import ModelState
from ticketlab.training.plan import TrainingPlan

R = TypeVar("R", bound=Callback)


def begin(component: TrainingComponent, plan: TrainingPlan, expected: type[R], *, adds: bool = False, checked: bool = True) -> R:
    """Return what ``component.begin(plan)`` returns, an ``expected`` callback.

    Random numbers that it draws from the global generators depend on the plan's seed alone, and change no other component's. ``adds``
    allows it to add parameters to the model, such as gates. The model is not ``checked`` if it may change in any way, or cannot.

    :raises PluginError: it returns something else, changes the model in a way that is not allowed, or has groups of parameters that an
        optimizer cannot train.
    """
    before = ModelState.of(plan.model) if checked else None
    with random_state.isolated(plan.seed):
        run: Any = component.begin(plan)  # type: ignore[attr-defined]  # each kind declares its own
    if not isinstance(run, expected):
        article = "an" if expected.__name__[0] in "AEIOU" else "a"
        raise PluginError(f"{type(component).__name__}.begin returned {type(run).__name__}, not {article} {expected.__name__}")
    if "settings" in expected.__annotations__ and not hasattr(run, "settings"):
        raise PluginError(f"{type(run).__name__} has no settings: its __init__ calls `super().__init__(settings)`")
    if before is not None:
        before.check(component, plan.model, adds=adds)
    check_groups(component, run)
    return run


def check_groups(component: TrainingComponent, run: Callback) -> None:
    """Check that the parameters that a run wants to be trained can be.

    :raises PluginError: a group is not a dict with a list of parameters, or the parameters are others at each call.
    """
    for callback in with_nested([run]):
        who = f"parameter_groups of {type(callback).__name__}, of the {component.kind} `{component.name}`,"
        once, again = callback.parameter_groups(), callback.parameter_groups()
        for group in (*once, *again):
            if not isinstance(group, dict) or isinstance(group.get("params"), (Tensor, NoneType)):
                raise PluginError(f'{who} returns dicts with a list of parameters: `{{"params": [...], "lr": ...}}`')
        first, second = ([tensor for group in groups for tensor in group["params"]] for groups in (once, again))
        if any(not isinstance(tensor, Tensor) or not tensor.is_leaf or not tensor.requires_grad for tensor in first):
            raise PluginError(f"{who} returned something that cannot be trained; use torch.nn.Parameter")
        if [id(tensor) for tensor in first] != [id(tensor) for tensor in second]:
            raise PluginError(f"{who} returns other parameters at each call; make them in begin")
