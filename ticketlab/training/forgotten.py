"""Checks, in the first two steps of a training, what components have forgotten: parameters to train, and state to save."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

from ticketlab.core.callback import Callback
from ticketlab.core.errors import PluginError
from ticketlab.training.model_state import sum_of_bits

if TYPE_CHECKING:
    from torch.optim import Optimizer

Values = dict[str, tuple[Any, ...]]


class ForgottenChecks(Callback):
    """Checks the other ``callbacks`` of a training of ``model``. Those in ``learners`` train each parameter that they have.

    A component whose values change from step to step, and which saves none, is only warned of: the values may not matter to the next step.

    :raises PluginError: a parameter has a gradient and is in no group of the optimizer; a state is not made of tensors, or is not restored;
        the run of an inner component is not in ``nested``.
    """

    observes: ClassVar[bool] = True

    def __init__(self, model: nn.Module, callbacks: Sequence[Callback], learners: Sequence[Callback], warn: Callable[[str], None]) -> None:
        self._model, self._callbacks, self._learners, self._warn = model, callbacks, learners, warn
        self._known: set[int] = set()
        self._before: list[Values] = []
        self._steps = 0

    def on_train_start(self, optimizer: Optimizer) -> None:
        """Remember which parameters are trained."""
        groups = optimizer.param_groups
        self._known = {id(parameter) for parameter in (*self._model.parameters(), *(one for group in groups for one in group["params"]))}

    def on_after_backward(self) -> None:
        """Check the gradients of the first step."""
        if self._steps:
            return
        for callback in self._learners:
            for name, leaf in _leaves(vars(callback)):
                if isinstance(leaf, nn.Parameter) and leaf.grad is not None and id(leaf) not in self._known:
                    raise PluginError(
                        f"`{name}` of {type(callback).__name__} has a gradient and is not trained; return it from parameter_groups"
                    )

    def on_step_end(self, step: int) -> bool:
        """Check the states after the first step, and what has changed after the second."""
        self._steps += 1
        if self._steps == 1:
            for callback in self._callbacks:
                check_state(callback)
            self._check_nested()
            self._before = [self._values(callback) for callback in self._callbacks]
        elif self._steps == 2:
            for callback, before in zip(self._callbacks, self._before, strict=True):
                after = self._values(callback)
                changed = next((name for name in after if before.get(name) != after[name]), "")
                if changed:
                    self._warn(
                        f"`{changed}` of {type(callback).__name__} changes from step to step and is not in a state_dict: "
                        "if the next step depends on it, a training that is interrupted ends with other bits; "
                        "otherwise reset it in on_step_end"
                    )
        return False

    def _check_nested(self) -> None:
        called = {id(callback) for callback in self._callbacks}
        for callback in self._learners:
            for name, value in vars(callback).items():
                if isinstance(value, Callback) and id(value) not in called:
                    raise PluginError(
                        f"`{name}` of {type(callback).__name__} is never called, and its state is not saved; return it from nested"
                    )

    def _values(self, callback: Callback) -> Values:
        """Return the values of the attributes of a callback that saves no state, apart from trained parameters."""
        found: Values = {}
        if type(callback).state_dict is Callback.state_dict:
            for name, leaf in _leaves(vars(callback)):
                if not isinstance(leaf, Tensor):
                    found[name] = (*found.get(name, ()), leaf)
                elif id(leaf) not in self._known:
                    found[name] = (*found.get(name, ()), tuple(leaf.shape), sum_of_bits(leaf))
        return found


def check_state(callback: Callback) -> None:
    """Check that the state of a callback can be saved, and is restored.

    :raises PluginError: it is not tensors by name, or there is no ``load_state_dict``.
    """
    who, state = type(callback).__name__, callback.state_dict()
    wrong = {name: value for name, value in state.items() if not isinstance(value, Tensor)} if isinstance(state, Mapping) else {"": state}
    for name, value in wrong.items():
        what = f"`{name}`, which is {type(value).__name__}" if name else type(value).__name__
        raise PluginError(f"{who}.state_dict returned {what}; it returns tensors by name (`torch.tensor(value)`)")
    if state and type(callback).load_state_dict is Callback.load_state_dict:
        raise PluginError(f"{who} has a state_dict and no load_state_dict, so a training that is interrupted would lose its state")


def _leaves(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the tensors and numbers in attributes, in modules and collections too, with the name of the attribute."""
    for name, value in attributes.items():
        yield from ((name, leaf) for leaf in _within(value))


def _within(value: Any) -> Iterator[Any]:
    if isinstance(value, (Tensor, bool, int, float)):
        yield value
    elif isinstance(value, nn.Module):
        yield from (*value.parameters(), *value.buffers())
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _within(inner)
    elif isinstance(value, (list, tuple, set)):
        for inner in value:
            yield from _within(inner)
