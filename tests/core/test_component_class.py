"""A class whose settings cannot be used is refused when it is registered, or when a lazy reference to it is imported."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from attrs import frozen

from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError
from ticketlab.core.hookspecs import HOOK_OF_KIND, Lazy, hookimpl
from ticketlab.core.plugin_source import Source
from ticketlab.core.registry import Registry
from ticketlab.core.settings import setting

Decorator = Callable[[type], type]


def component_class(kind: str, base: type, decorate: Decorator, **body: Any) -> type[Component]:
    """Return a decorated class with a setting, unless ``body`` has others."""
    names = {"kind": kind, "name": "mine", "summary": "mine", "__module__": __name__, "__annotations__": {"power": float}}
    made: type[Component] = decorate(
        types.new_class("Mine", (base,), exec_body=lambda space: space.update({**names, "power": setting(1.0, help="power"), **body}))
    )
    return made


def undecorated(cls: type) -> type:
    return cls


def decorated_subclass(cls: type) -> type:
    made: type = frozen(types.new_class("Below", (cls,)))
    return made


@frozen
class Base(Component):
    """A frozen class with a setting."""

    kind: ClassVar[str] = "pruner"
    strength: float = setting(1.0, help="strength")


FORGOTTEN = r"Mine has the settings `power` and no decorator: write @frozen above the class"
REFUSED = [
    *(pytest.param(kind, Component, undecorated, {}, FORGOTTEN, id=f"an undecorated {kind}") for kind in HOOK_OF_KIND),
    pytest.param("pruner", Base, undecorated, {}, FORGOTTEN, id="an undecorated subclass of a frozen class"),
    pytest.param("pruner", Component, decorated_subclass, {}, FORGOTTEN, id="a frozen subclass of an undecorated class"),
    pytest.param(
        "pruner",
        Component,
        frozen,
        {"power": 2.0},
        r"`power` of Mine is neither a setting, `= setting\(...\)`, nor a con",
        id="a plain value",
    ),
]


@pytest.mark.parametrize(("kind", "base", "decorate", "body", "message"), REFUSED)
@pytest.mark.parametrize("lazy", [False, True], ids=["", "lazy"])
def test_a_class_without_usable_settings_is_refused(
    builtins_only: Registry,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    base: type,
    decorate: Decorator,
    body: Any,
    message: str,
    lazy: bool,
) -> None:
    cls = component_class(kind, base, decorate, **body)
    monkeypatch.setattr(sys.modules[__name__], "Mine", cls, raising=False)
    module = types.ModuleType("plugin")
    setattr(module, HOOK_OF_KIND[kind], hookimpl(lambda: [Lazy("mine", "mine", f"{__name__}:Mine") if lazy else cls]))
    builtins_only.register(module, Source("ours 1", "sha256:1"))
    if lazy:
        with pytest.raises(PluginError, match=rf"{kind} `mine` of ours 1 cannot be used: {message}"):
            builtins_only.get(kind, "mine")
    else:
        (problem,) = builtins_only.problems
        assert re.match(rf"ours 1 does not load: TypeError: {message}", problem.message)
        assert not builtins_only.knows(kind, "mine")


def test_a_subclass_without_settings_of_its_own_needs_no_decorator(builtins_only: Registry) -> None:
    module = types.ModuleType("plugin")
    cls = component_class("pruner", Base, undecorated, power=2.0, __annotations__={})
    module.ticketlab_pruners = hookimpl(lambda: [cls])  # type: ignore[attr-defined]
    builtins_only.register(module, Source("ours 1", "sha256:1"))
    assert builtins_only.get("pruner", "mine")(strength=3.0).strength == 3.0  # type: ignore[call-arg]
