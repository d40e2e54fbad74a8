"""Settings: attrs fields with help, unit and bounds, and the conversion of components from and to plain tables.

Flags, TOML keys, ``ticketlab show``, hashes and error messages are derived from these declarations.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast, get_args

import attrs

from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.core.errors import SettingError, did_you_mean
from ticketlab.core.setting_values import check_value, converter, parse_ratio, settings_of

S = TypeVar("S", bound=attrs.AttrsInstance)


def setting(
    default: Any,
    *,
    help: str,
    unit: str = "",
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    choices: Sequence[str] | None = None,
    identity: bool = True,
    added_later: bool = False,
    converter: Callable[[Any], Any] | None = None,
    check: Callable[[Any], None] | None = None,
) -> Any:
    """Declare one setting of a component.

    Numbers must be finite, fit in a 32-bit float or a 64-bit integer, and not exceed the bound that :data:`LARGEST` has for their unit.
    ``identity=False`` marks a setting that changes how a result is computed but not the result (workers, batch size): it is
    excluded from hashes. ``added_later=True`` marks a setting that is newer than its component, and whose default gives the results that
    the component gave before: at its default it is excluded from hashes too, so that earlier results in a lab stay valid. Bounds and
    choices hold for each item of a tuple and are not checked for ``None``. ``check`` is called with a value that has passed all other
    checks, and raises ValueError for an invalid one; its message follows the name of the setting.
    """
    bounds = {"at_least": at_least, "above": above, "at_most": at_most, "below": below}
    metadata = {
        "help": help,
        "unit": unit,
        "bounds": {name: bound for name, bound in bounds.items() if bound is not None},
        "choices": tuple(choices) if choices is not None else None,
        "identity": identity,
        "added_later": added_later,
        "check": check,
    }
    return attrs.field(default=default, kw_only=True, validator=check_value, converter=converter, metadata=metadata)


def ratio(default: float | None, *, help: str, identity: bool = True, added_later: bool = False) -> Any:
    """Declare a setting between 0 and 1, given as a number or as a fraction such as ``"1/6"``; the rest as for :func:`setting`."""
    return setting(
        default, help=help, unit="fraction", at_least=0, at_most=1, identity=identity, added_later=added_later, converter=parse_ratio
    )


def component(
    kind: str,
    default: str | None,
    *,
    help: str,
    many: bool = False,
    if_duplicate: str = "remove one of the two",
    added_later: bool = False,
) -> Any:
    """Declare a setting that is itself a component of ``kind`` or, with ``many``, a tuple of components with distinct labels.

    Each is given as a name, a table with a ``name``, or a component. A table without a ``name`` has settings of the default, if there is
    one and the setting is not ``many``. If ``default`` is None, the setting may be None or, with ``many``, an
    empty tuple. ``if_duplicate`` says what to do about two components with the same label. ``added_later`` is that of :func:`setting`.
    """
    metadata = _metadata(help) | {"component": kind, "many": many, "may_be_empty": default is None, "if_duplicate": if_duplicate}
    metadata["default_name"] = default
    metadata["added_later"] = added_later
    build = functools.partial(_component_value, kind, where=kind, metadata=metadata)
    factory = attrs.Factory(lambda: build([] if default is None and many else [default] if many else default))
    return attrs.field(default=factory, kw_only=True, converter=build, metadata=metadata)


def reference(default: str | None, *, help: str, accepts: Sequence[str], checkpoints_of: Sequence[str] = ("train",)) -> Any:
    """Declare a setting that names another stage (of one of the kinds in ``accepts``), or a file or model outside the recipe.

    ``STAGE@STEP`` may name a checkpoint of a stage of one of the kinds in ``checkpoints_of``. An accepted ``train`` or ``export`` stage
    stands for its model, and a ``draw`` stage for its ticket; otherwise the setting names the folder of the stage.
    """
    metadata = _metadata(help) | {"reference": tuple(accepts), "checkpoints_of": tuple(checkpoints_of)}
    return attrs.field(default=default, kw_only=True, metadata=metadata)


def _metadata(help: str) -> dict[str, Any]:
    return {"help": help, "unit": "", "bounds": {}, "choices": None, "identity": True, "added_later": False}


_shared: dict[tuple[type, str], Any] | None = None


@contextlib.contextmanager
def shared_instances() -> Iterator[None]:
    """While the block runs, build equal tables into one object, as the many recipes of a study differ in few settings."""
    global _shared
    outer, _shared = _shared, {} if _shared is None else _shared
    try:
        yield
    finally:
        _shared = outer


def from_table(cls: type[S], table: Mapping[str, Any], *, path: str = "", title: str = "") -> S:
    """Build a component, or another class made of settings, from a plain table (TOML or JSON values).

    A ``none`` string becomes None, as TOML has no null. For messages, ``path`` is the path of the table (``search.pruner``), and ``title``
    the name of the class, by default the component's kind and name.

    :raises SettingError: an unknown key (the message suggests the nearest known one), or a value of the wrong type or out of bounds.
    """
    name = _shared_name(cls, table)
    if _shared is not None and name is not None:
        if name not in _shared:
            _shared[name] = _build(cls, table, path, title)
        return cast("S", _shared[name])
    return _build(cls, table, path, title)


def _shared_name(cls: type, table: Mapping[str, Any]) -> tuple[type, str] | None:
    """Return what identifies an object while equal ones are shared; None if the table holds objects."""
    if _shared is None:
        return None
    try:
        return cls, json.dumps(table)
    except (TypeError, ValueError):
        return None


def _build(cls: type[S], table: Mapping[str, Any], path: str, title: str) -> S:
    title = title or (f"{cls.kind} `{cls.name}`" if issubclass(cls, Component) else cls.__name__)
    fields = {field.name: field for field in settings_of(cls)}
    values = {}
    for key, value in table.items():
        where = f"{path}.{key}" if path else key
        if key not in fields:
            raise SettingError(f"{where}: {title} has no such setting{did_you_mean(key, fields)}")
        values[key] = _value(fields[key], value, where)
    try:
        return cls(**values)
    except SettingError as problem:
        raise SettingError(f"{path}.{problem}" if path else str(problem)) from None


def _value(field: attrs.Attribute[Any], value: Any, where: str) -> Any:
    kind = field.metadata.get("component")
    if kind is not None:
        return _component_value(kind, value, where, field.metadata)
    if value == "none" and type(None) in get_args(field.type):
        return None
    try:
        converted = field.converter(value) if callable(field.converter) else value
        return converter.structure(converted, cast("type[Any]", field.type))
    except SettingError as problem:
        raise SettingError(f"{where}: {problem}") from None
    except (TypeError, ValueError, OverflowError) as problem:
        raise SettingError(f"{where}: {problem}") from None


def _component_value(kind: str, value: Any, where: str, metadata: Mapping[Any, Any]) -> Any:
    """Return the component or components that a setting is given as. An optional component may be None, or ``none`` in a table."""
    if metadata["many"]:
        return _components(kind, value, where, metadata)
    if isinstance(value, Mapping) and value and "name" not in value and metadata["default_name"] is not None:
        value = {"name": metadata["default_name"], **value}
    return None if metadata["may_be_empty"] and value in (None, "none") else build_component(kind, value, where)


def _components(kind: str, value: Any, where: str, metadata: Mapping[Any, Any]) -> tuple[Component, ...]:
    if not isinstance(value, (list, tuple)):
        raise SettingError(f"{where}: must be a list, not {value!r}")
    built = tuple(build_component(kind, item, f"{where}[{index}]") for index, item in enumerate(value))
    if not built and not metadata["may_be_empty"]:
        raise SettingError(f"{where}: name at least one {kind}")
    labels = [item.label for item in built]
    for index, label in enumerate(labels):
        if label in labels[:index]:
            problem = f"another {kind} is already named `{label}`, and results are reported by this name"
            raise SettingError(f"{where}[{index}]: {problem}; {metadata['if_duplicate']}")
    return built


def build_component(kind: str, value: Any, where: str) -> Component:
    """Return the component for a name, a table with a ``name``, or a component; ``where`` is its path in messages.

    ``NAME:VALUE`` is NAME with the value of the setting that :attr:`Component.variant` names.

    :raises SettingError: there is no such component, or its settings are invalid.
    """
    if isinstance(value, Component):
        if value.kind != kind:
            raise SettingError(f"{where}: must be of kind {kind}, and `{value.name}` is of kind {value.kind}")
        return value
    table = {"name": value} if isinstance(value, str) else dict(value) if isinstance(value, Mapping) else None
    if table is None or not isinstance(table.get("name"), str):
        raise SettingError(f"{where}: must name a component of kind {kind}, or be a table with a `name`, not {value!r}")
    name = table.pop("name")
    try:
        cls = registry.current().get(kind, name)
    except SettingError as problem:
        raise SettingError(f"{where}: {problem}") from None
    _, value = registry.current().split(kind, name)
    if value is not None and table.setdefault(cls.variant, value) != value:
        raise SettingError(f"{where}: `{name}` and {cls.variant} = {table[cls.variant]!r} contradict each other; write one of them")
    return from_table(cls, table, path=where)


def to_table(instance: attrs.AttrsInstance, *, identity_only: bool = False, cls: type[attrs.AttrsInstance] | None = None) -> dict[str, Any]:
    """Return the settings of a component, or another object made of settings, as plain values that :func:`from_table` accepts.

    None is written as ``"none"``. ``identity_only`` omits settings that do not change results: those with ``identity=False``, and those
    with ``added_later=True`` at their default (:func:`setting`). ``cls`` is the base class of ``instance``
    whose settings are written, by default its own class.
    """
    table: dict[str, Any] = {}
    for field in settings_of(cls or type(instance)):
        value = getattr(instance, field.name)
        if identity_only and not _changes_result(field, value):
            continue
        if "component" not in field.metadata:
            value = converter.structure(value, cast("type[Any]", field.type))  # 1 given for a float is 1.0, with the same hash
        table[field.name] = _plain(value, identity_only)
    return table


def component_table(component: Component, *, identity_only: bool = False) -> dict[str, Any]:
    """Return a component as a table that builds an equal one: the name that finds it, and :func:`to_table`."""
    return {"name": registry.current().name_of_class(type(component)), **to_table(component, identity_only=identity_only)}


def default_of(field: attrs.Attribute[Any]) -> Any:
    """Return the default value of a setting."""
    default: Any = field.default
    return default.factory() if hasattr(default, "factory") else default


def _changes_result(field: attrs.Attribute[Any], value: Any) -> bool:
    """Return whether a value belongs to the identity of its component."""
    if not field.metadata.get("identity", True):
        return False
    return not (field.metadata.get("added_later", False) and value == default_of(field))


def _plain(value: Any, identity_only: bool) -> Any:
    if isinstance(value, Component):
        return component_table(value, identity_only=identity_only)
    if isinstance(value, (tuple, list)):
        return [_plain(item, identity_only) for item in value]
    return "none" if value is None else value
