"""Component: a named set of settings. Components are immutable; state belongs to the objects that they create for one training."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any, ClassVar, Literal, get_args

import attrs
from attrs import frozen

from ticketlab.core.method_names import check_method_names

Precision = Literal["fp32", "bf16"]
OTHER_NAMES = {"attach": "begin", "start_monitor": "begin"}
"""Names of earlier versions for the methods of components."""
FREE = ("label", "plugin_modules")
"""Methods that authors do not override."""


@frozen
class Component:
    """A named set of settings: a frozen attrs class whose fields are made by :func:`ticketlab.core.settings.setting`.

    A subclass with a misspelt method is refused (TypeError): a public method that overrides nothing must not have a name that is similar to
    that of one that is called.
    """

    kind: ClassVar[str]
    """The kind of component, set by the base class of the kind."""
    name: ClassVar[str]
    """The name in recipes and on the command line, in lower case with hyphens."""
    summary: ClassVar[str]
    """One line about what it does, for lists."""
    paper: ClassVar[str] = ""
    """The citation of the paper that it is from; empty for none."""
    version: ClassVar[int] = 1
    """Part of the keys of results: increment it when the same settings give different results."""
    variant: ClassVar[str] = ""
    """The setting that ``VALUE`` sets where the component is named ``NAME:VALUE``; empty for none."""
    precisions: ClassVar[tuple[str, ...]] = get_args(Precision)
    """The precisions that it can compute in. A recipe that runs in another one is refused before anything is computed."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_names(cls, "precisions", get_args(Precision))
        check_method_names(cls, OTHER_NAMES, free=FREE)

    @property
    def label(self) -> str:
        """The name that distinguishes it from others of its kind: the one that finds it, or ``NAME:VALUE`` if it has variants."""
        value = getattr(self, self.variant) if self.variant else None
        name = find_name(type(self))
        return name if value is None else f"{name}:{value}"

    @property
    def plugin_modules(self) -> tuple[str, ...]:
        """The names of modules of plugins that the settings name. Their code is part of the keys of results."""
        return ()


def _own_name(cls: type[Component]) -> str:
    return cls.name


find_name: Callable[[type[Component]], str] = _own_name
"""Returns the name that finds a class: its own, or ``PACKAGE:NAME``. The registry, which imports this module, replaces it by its own."""


def check_names(cls: type, attribute: str, known: tuple[str, ...]) -> None:
    """Refuse a class whose ``attribute`` is not a tuple of ``known`` names.

    :raises TypeError: it is not; the message lists the names.
    """
    value = getattr(cls, attribute)
    if not (isinstance(value, tuple) and set(value) <= set(known)):
        raise TypeError(f"{cls.__name__}.{attribute} must be a tuple of some of {', '.join(known)}, not {value!r}")


def components_in(component: Component, among: Container[str] | None = None) -> Iterator[Component]:
    """Yield the components in the settings of a component, and theirs recursively; ``among`` restricts the settings at the top level."""
    for setting in attrs.fields(type(component)):
        value = getattr(component, setting.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Component) and (among is None or setting.name in among):
                yield part
                yield from components_in(part)


def with_components(component: Component) -> Iterator[Component]:
    """Yield a component and those in its settings, recursively."""
    yield component
    yield from components_in(component)
