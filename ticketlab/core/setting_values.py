"""Values of settings: their types, bounds and choices, and the conversion of plain values to them."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from typing import Any, Literal, Union, cast, get_args, get_origin

import attrs
import cattrs

from ticketlab.core.errors import SettingError

_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "at_least": ("at least", lambda value, bound: value >= bound),
    "above": ("above", lambda value, bound: value > bound),
    "at_most": ("at most", lambda value, bound: value <= bound),
    "below": ("below", lambda value, bound: value < bound),
}


LARGEST_FLOAT = 3.4e38
"""The largest 32-bit float."""
LARGEST_INT = 2**63 - 1
LARGEST = {"epochs": 1e5, "seconds": 1e9}
"""By unit. A larger value is a mistake: the run would never end."""


def settings_of(cls: type[attrs.AttrsInstance]) -> tuple[attrs.Attribute[Any], ...]:
    """Return the fields of a class made of settings, with their annotations resolved to types."""
    attrs.resolve_types(cls)
    return tuple(attrs.fields(cls))


def check_value(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Check the type, choices and bounds of a setting: the validator of every field.

    :raises SettingError: the value is invalid; the message begins with the name of the setting.
    """
    if isinstance(attribute.type, str):
        settings_of(type(instance))  # resolves the types of the class, this attribute's included
    try:
        converter.structure(value, cast("type[Any]", attribute.type))
    except (TypeError, ValueError, OverflowError) as problem:
        raise SettingError(f"{attribute.name}: {problem}") from None
    if value is None:
        return
    choices = attribute.metadata["choices"]
    for item in value if isinstance(value, tuple) else (value,):
        if choices is not None and item not in choices:
            raise SettingError(f"{attribute.name}: must be one of {', '.join(choices)}, not {item!r}")
        _check_number(attribute.name, item, attribute.metadata["unit"])
        for name, bound in attribute.metadata["bounds"].items():
            phrase, holds = _BOUNDS[name]
            if not holds(item, bound):
                raise SettingError(f"{attribute.name}: must be {phrase} {bound:g}, not {item!r}")
    if attribute.metadata["check"] is not None:
        try:
            attribute.metadata["check"](value)
        except ValueError as problem:
            raise SettingError(f"{attribute.name}: {problem}") from None


def _check_number(name: str, value: Any, unit: str) -> None:
    """Refuse a number that is not finite or too large to compute with. Other values pass.

    :raises SettingError: the number is invalid; the message begins with ``name``.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingError(f"{name}: must be a finite number, not {value}")
    if isinstance(value, (int, float)):
        largest = LARGEST.get(unit, LARGEST_INT if isinstance(value, int) else LARGEST_FLOAT)
        if abs(value) > largest:
            size = f"{value:g}" if abs(value) <= sys.float_info.max else "a number of over 300 digits"
            raise SettingError(f"{name}: must be at most {largest:g}{f' {unit}' if unit in LARGEST else ''}, not {size}")


def parse_ratio(value: Any) -> Any:
    """Turn ``"1/6"`` or ``"0.3"`` into a float; pass numbers and None through."""
    if not isinstance(value, str):
        small = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
        return float(value) if small else value
    top, slash, bottom = value.partition("/")
    try:
        return float(top) / float(bottom) if slash else float(top)
    except (ValueError, ArithmeticError):
        raise SettingError(f"{value!r} is not a fraction; write 0.3 or 1/6") from None


def _strict(expectation: str, expected: type, *also: type) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        if isinstance(value, (expected, *also)) and (expected is bool or not isinstance(value, bool)):
            return expected(value)
        raise TypeError(f"must be {expectation}, not {value!r}")

    return structure


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=False)
    converter.register_structure_hook(int, _strict("a whole number", int))
    converter.register_structure_hook(float, _strict("a number", float, int))
    converter.register_structure_hook(str, _strict("a string", str))
    converter.register_structure_hook(bool, _strict("true or false", bool))
    converter.register_structure_hook_func(_is_optional, _structure_optional)
    converter.register_structure_hook_func(_is_choice, _structure_choice)
    converter.register_structure_hook_func(_is_tuple, _structure_tuple)
    return converter


def _is_optional(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _is_choice(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _structure_choice(value: Any, kind: Any) -> Any:
    if value not in get_args(kind):
        raise TypeError(f"must be one of {', '.join(map(str, get_args(kind)))}, not {value!r}")
    return value


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _structure_tuple(value: Any, kind: Any) -> Any:
    if not isinstance(value, (list, tuple)):  # a str is a sequence too
        raise TypeError(f"must be a list, not {value!r:.80}")
    return tuple(converter.structure(item, get_args(kind)[0]) for item in value)


def _structure_optional(value: Any, kind: Any) -> Any:
    alternatives = get_args(kind)
    if value is None and type(None) in alternatives:
        return None
    problems = []
    for alternative in alternatives:
        if alternative is type(None):
            continue
        try:
            return converter.structure(value, alternative)
        except (TypeError, ValueError) as problem:
            problems.append(str(problem))
    raise TypeError(" or ".join(dict.fromkeys(problems)))


converter = _make_converter()
"""Converts a value to the type of its setting, and refuses any other type: nothing is cast."""
