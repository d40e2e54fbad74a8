"""An unexpected error in a plugin names the component, the plugin, and the file, line and function where it was raised."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core import plugin_errors, registry
from ticketlab.core.component import Component
from ticketlab.core.errors import SettingError

FILE = Path(__file__).parents[1] / "third_party" / "failing.py"
LINE = next(number for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), start=1) if "raise ValueError" in line)
PLACE = f"(third_party/failing.py:{LINE}, in broken)"


@pytest.fixture(autouse=True)
def _plugin(own_registry: None) -> Iterator[None]:
    with registry.using(registry.load([FILE], entry_points=False)):
        yield


def raised(fail: Callable[[], Any]) -> Exception:
    try:
        fail()
    except Exception as problem:
        return problem
    raise AssertionError("nothing was raised")


def made(kind: str) -> Any:
    return registry.current().get(kind, "failing")()


@pytest.mark.parametrize(
    ("kind", "fail", "what"),
    [
        pytest.param("adversary", lambda one: one.backward(None, None), "the step is broken", id="in an adversary"),
        pytest.param("task", lambda one: one.load(), "the file is broken", id="in a task"),
        pytest.param("backbone", lambda one: one.max_length(None), "the length is broken", id="in an adapter"),
    ],
)
def test_an_error_names_the_component_and_the_deepest_line_of_the_plugin(kind: str, fail: Callable[[Any], Any], what: str) -> None:
    problem = plugin_errors.explained(raised(functools.partial(fail, made(kind))))
    assert str(problem) == f"{kind} `failing` of {FILE} failed: ValueError: {what} {PLACE}"


def broken() -> Any:
    module: Any = sys.modules[registry.current().get("task", "failing").__module__]
    return module.broken("it")


@pytest.mark.parametrize(
    ("suspects", "who"),
    [
        ([], ""),
        (["task"], "task `failing` of "),
        (["task", "adversary"], "task `failing` or adversary `failing` of "),
    ],
)
def test_the_components_that_were_running_are_named_if_no_method_tells(suspects: list[str], who: str) -> None:
    parts: list[Component] = [*map(made, suspects), registry.current().get("adversary", "fgm")()]
    assert str(plugin_errors.explained(raised(broken), parts)) == f"{who}{FILE} failed: ValueError: it is broken {PLACE}"


@pytest.mark.parametrize(
    "problem",
    [raised(lambda: 1 / 0), raised(lambda: (_ for _ in ()).throw(SettingError("x"))), KeyboardInterrupt()],
    ids=["elsewhere", "an error for the user", "an interruption"],
)
def test_other_errors_are_left_as_they_are(problem: BaseException) -> None:
    assert plugin_errors.explained(problem) is None
