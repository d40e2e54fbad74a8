"""Checks that a class is a component whose settings can be used."""

from __future__ import annotations

import weakref

import attrs

from ticketlab.core.component import Component

_DECLARATION = type(attrs.field())
"""The type of what ``setting()`` returns, which ``@frozen`` turns into a setting."""
_CHECKED: weakref.WeakSet[type] = weakref.WeakSet()
"""Classes that passed: a component is checked whenever it is looked up by its name."""


def check_component_class(cls: type[Component]) -> None:
    """Check that every setting of a class is declared by ``setting``, and that ``@frozen`` has made settings of the declarations.

    :raises TypeError: it is not; the message says what to change.
    """
    if cls in _CHECKED:
        return
    for base in cls.__mro__:
        forgotten = [f"`{name}`" for name, value in vars(base).items() if isinstance(value, _DECLARATION)]
        if forgotten:
            raise TypeError(
                f"{base.__name__} has the settings {', '.join(forgotten)} and no decorator: write @frozen above the class{_at(base)}"
            )
    for field in attrs.fields(cls):
        if "help" not in field.metadata:
            raise TypeError(
                f"`{field.name}` of {cls.__name__} is neither a setting, `= setting(...)`, nor a constant, `: ClassVar[...]`{_at(cls)}"
            )
    _CHECKED.add(cls)


def _at(cls: type) -> str:
    from ticketlab.core.plugin_frames import place_of  # needed for error messages alone

    place = place_of(cls)
    return f" ({place})" if place else ""
