"""Values of settings to test with: another one that is valid, those at the declared bounds, and those just outside of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import attrs

from ticketlab.core.component import Component
from ticketlab.core.errors import SettingError
from ticketlab.core.setting_values import settings_of
from ticketlab.core.settings import default_of

NEAR = 0.01
"""An open bound is approached up to this fraction of the distance of the default from it."""


def number_type(field: attrs.Attribute[Any]) -> type[int] | type[float] | None:
    """Return the type of a setting that is a number, or a number or None; None for any other."""
    kinds = set(get_args(field.type)) - {type(None)} or {field.type}
    return int if kinds == {int} else float if kinds <= {int, float} and float in kinds else None


def choices_of(field: attrs.Attribute[Any]) -> tuple[Any, ...]:
    """Return the values that a setting may have, if they are listed."""
    kinds = [kind for kind in (field.type, *get_args(field.type)) if get_origin(kind) is Literal]
    listed = tuple(field.metadata["choices"] or (get_args(kinds[0]) if kinds else ()))
    return (False, True) if field.type is bool else listed


def with_value(component: Component, name: str, value: Any) -> Component | None:
    """Return a component with another value of a setting; None if the value is invalid."""
    try:
        return attrs.evolve(component, **{name: value})
    except SettingError:
        return None


def with_other_value(component: Component, field: attrs.Attribute[Any]) -> Component | None:
    """Return the component with another valid value of a setting; None if there is no obvious one."""
    now = getattr(component, field.name)
    number = number_type(field)
    candidates: list[Any] = [*choices_of(field)]
    if number is not None:
        base = now if now is not None else default_of(field) or 1
        candidates += [number(value) for value in (base + 1, base * 2, base / 2, base - 1, 1)]
    elif field.type in (str, str | None) and not candidates:
        candidates += ["another"]
    made = (with_value(component, field.name, value) for value in candidates if value != now)
    return next((other for other in made if other is not None), None)


def at_the_bounds(component: Component) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each numeric setting at its bounds, or near those that are not included.

    A setting without any bound is given 0 and -1, which a user could write.
    """
    for field in settings_of(type(component)):
        number = number_type(field)
        if number is None or field.metadata["choices"]:
            continue
        bounds = field.metadata["bounds"]
        default = default_of(field)
        start = float(default if default is not None else 1)
        values = [bounds[name] for name in ("at_least", "at_most") if name in bounds]
        values += [bounds[name] + (NEAR * (start - bounds[name]) or NEAR) for name in ("above", "below") if name in bounds]
        for value in values if bounds else (0, -1):
            rounded = number(value) if float(number(value)) == float(value) else None
            if rounded is not None and with_value(component, field.name, rounded) is not None:
                yield field.name, rounded


def outside_the_bounds(field: attrs.Attribute[Any]) -> list[Any]:
    """Return values that the bounds and choices of a setting exclude."""
    number = number_type(field)
    if field.metadata["choices"]:
        return ["no such choice"]
    if number is None:
        return []
    outside = {"at_least": (-1,), "above": (0, -1), "at_most": (1,), "below": (0, 1)}
    return [number(bound + far) for name, bound in field.metadata["bounds"].items() for far in outside[name]]
