"""The settings of a component class as plain values, for help texts, JSON and the reference."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

import attrs

from ticketlab.core.component import Component
from ticketlab.core.setting_values import settings_of
from ticketlab.core.settings import component_table

SIGNS = {"at_least": ">=", "above": ">", "at_most": "<=", "below": "<"}


def describe(cls: type[Component]) -> list[dict[str, Any]]:
    """Return name, type, default, bounds, unit and help of every setting, in the order of declaration."""
    return [_describe(field) for field in settings_of(cls)]


def _describe(field: attrs.Attribute[Any]) -> dict[str, Any]:
    default = _default(field)
    return {
        "name": field.name,
        "type": _type(field),
        "default": default,
        "default_text": _text(default),
        "bounds": dict(field.metadata.get("bounds", {})),
        "bounds_text": _bounds(field.metadata),
        "choices": list(field.metadata.get("choices") or ()),
        "unit": field.metadata.get("unit", ""),
        "help": field.metadata.get("help", ""),
        "changes_results": field.metadata.get("identity", True),
    }


def _default(field: attrs.Attribute[Any]) -> Any:
    made_by = getattr(field.default, "factory", None)  # of attrs.Factory
    default = made_by() if made_by else field.default
    return [_plain(item) for item in default] if isinstance(default, tuple) else _plain(default)


def _plain(value: Any) -> Any:
    return component_table(value) if isinstance(value, Component) else value


def _text(default: Any) -> str:
    if isinstance(default, Mapping):
        return str(default["name"])
    if isinstance(default, list):
        return ", ".join(_text(item) for item in default) or "none"
    if isinstance(default, bool) or default is None:
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}"
    return str(default)


def _type(field: attrs.Attribute[Any]) -> str:
    kind = field.metadata.get("component")
    if kind is not None:
        return f"list of {kind}s" if field.metadata.get("many") else f"{kind} or none" if field.metadata.get("may_be_empty") else kind
    if "reference" in field.metadata:
        return f"{' or '.join(field.metadata['reference'])} stage or path"
    return _name(field.type)


def _name(annotation: Any) -> str:
    if get_origin(annotation) in (Union, types.UnionType):
        return " or ".join(_name(part) for part in get_args(annotation))
    if get_origin(annotation) is Literal:
        return "choice"
    if get_origin(annotation) in (tuple, list):
        return f"list of {_name(get_args(annotation)[0])}"
    if annotation in (None, type(None)):
        return "none"
    names = {int: "integer", float: "number", str: "text", bool: "true or false"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _bounds(metadata: Mapping[str, Any]) -> str:
    if metadata.get("choices"):
        return ", ".join(metadata["choices"])
    return ", ".join(f"{SIGNS[name]} {bound:g}" for name, bound in metadata.get("bounds", {}).items())
