"""The public members of a class, with what its source says about each: attributes, fields, properties and methods."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs
from attrs import frozen

Kind = Literal["class attribute", "field", "attribute", "property", "method"]
CLASS_VAR = re.compile(r"^(?:typing\.)?ClassVar\[(.*)\]$", re.DOTALL)
OPERATORS = ("__bool__", "__call__", "__getitem__", "__iter__", "__len__", "__or__")
"""Special methods that are listed if their class describes them."""


@frozen
class Member:
    """One public member of a class. ``about`` is what its source says about it; ``default`` is empty if it has none."""

    name: str
    kind: Kind
    about: str
    owner: type
    type: str = ""
    default: str = ""
    function: Any = None


def members(cls: type, public: Sequence[type]) -> list[Member]:
    """Return the members that a class defines or inherits from a class of the package that is not in ``public``, base classes first."""
    found: dict[str, Member] = {}
    for base in own_classes(cls, public):
        for member in _defined(base):
            found[member.name] = attrs.evolve(member, about=member.about or _about_in_bases(cls, member))
    return list(found.values())


def _about_in_bases(cls: type, member: Member) -> str:
    """Return what a base class says about an attribute that the class sets, without describing it again."""
    known = (_attributes(base)[0].get(member.name, "") for base in _bases(cls))
    return "" if member.function else next(filter(None, known), "")


def inherited(cls: type, public: Sequence[type]) -> dict[type, list[str]]:
    """Return the names of the members that a class inherits from each of its public base classes, and does not define again."""
    names = {member.name for member in members(cls, public)}
    found: dict[type, list[str]] = {}
    for base in cls.__mro__[1:]:
        if base in public:
            found[base] = [member.name for member in members(base, public) if member.name not in names and member.about]
            names |= set(found[base])
    return {base: own for base, own in found.items() if own}


def own_classes(cls: type, public: Sequence[type]) -> list[type]:
    """Return a class and those of its bases whose members are described with it, base classes first."""
    bases = [base for base in _bases(cls) if base not in public]
    of_public = {outer for base in cls.__mro__[1:] if base in public for outer in base.__mro__}
    return [*reversed([base for base in bases if base not in of_public]), cls]


def _bases(cls: type) -> list[type]:
    """Return the base classes of a class that are in its own package."""
    package = cls.__module__.partition(".")[0]
    return [base for base in cls.__mro__[1:] if base.__module__.partition(".")[0] == package]


def _defined(cls: type) -> Iterator[Member]:
    """Yield the public members in the body of a class, and the attributes that its constructor sets."""
    said, values = _attributes(cls)
    cached = _cached_properties(cls)
    fields = {field.name: field for field in attrs.fields(cls)} if attrs.has(cls) else {}
    for name, annotation in inspect.get_annotations(cls).items():
        if name.startswith("_") or name in cached:
            continue
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        if shared := CLASS_VAR.match(text):
            default = shown(vars(cls)[name]) if name in vars(cls) else ""
            yield Member(name, "class attribute", said.get(name, ""), cls, shared[1], default)
        elif name in fields:
            about = said.get(name) or fields[name].metadata.get("help", "")
            yield Member(name, "field", about, cls, text, _default(fields[name]))
        else:
            yield Member(name, "attribute", said.get(name, ""), cls, text, shown(vars(cls)[name]) if name in values else "")
    for name, (type_, about) in cached.items():
        yield Member(name, "property", about, cls, type_)
    for name, value in vars(cls).items():
        if name.startswith("_") and name not in OPERATORS:
            continue
        if isinstance(value, property):
            yield Member(name, "property", _documented(value.fget), cls, str(inspect.get_annotations(value.fget).get("return", "")))  # type: ignore[arg-type]
        elif inspect.isfunction(function := getattr(value, "__func__", value)) and (not name.startswith("_") or function.__doc__):
            yield Member(name, "method", _documented(function), cls, function=function)
    known = {*inspect.get_annotations(cls), *vars(cls), *cached}
    for name, (type_, about) in _set_by_constructor(cls).items():
        if name not in known:
            yield Member(name, "attribute", about, cls, type_)


def _default(field: attrs.Attribute[Any]) -> str:
    if field.default is attrs.NOTHING:
        return ""
    return shown(field.default.factory()) if isinstance(field.default, attrs.Factory) else shown(field.default)  # type: ignore[arg-type]


def shown(value: Any) -> str:
    """Return a default as it is written in code; a component or a function by its name."""
    if inspect.isfunction(value):
        return value.__name__
    return repr(value.name) if isinstance(getattr(value, "kind", None), str) else repr(value)


def _documented(function: Any) -> str:
    return inspect.cleandoc(function.__doc__ or "")


def _attributes(cls: type) -> tuple[Mapping[str, str], set[str]]:
    """Return the docstrings of the attributes in the body of a class by name, and the names of those that have a value."""
    body = _definition(cls).body
    return abouts(body), {_target(node) for node in body if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None}


def _cached_properties(cls: type) -> dict[str, tuple[str, str]]:
    """Return the type and the docstring of each public cached property, which a class with slots has only in its source."""
    return {
        node.name: ("" if node.returns is None else ast.unparse(node.returns), inspect.cleandoc(ast.get_docstring(node) or ""))
        for node in _definition(cls).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and any(ast.unparse(decorator).endswith("cached_property") for decorator in node.decorator_list)
    }


def _set_by_constructor(cls: type) -> dict[str, tuple[str, str]]:
    """Return the type and the docstring of each public attribute that ``__init__`` sets, by name."""
    for node in _definition(cls).body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            said, types = abouts(node.body), {argument.arg: argument.annotation for argument in (*node.args.args, *node.args.kwonlyargs)}
            targets = {_target(part): part for part in node.body if isinstance(part, (ast.Assign, ast.AnnAssign))}
            return {
                name.removeprefix("self."): (_type(part, types), said.get(name, ""))
                for name, part in targets.items()
                if name.startswith("self.") and not name.startswith("self._")
            }
    return {}


def _type(node: ast.Assign | ast.AnnAssign, parameters: Mapping[str, ast.expr | None]) -> str:
    """Return the type of an attribute: the one in its assignment, or that of the parameter that is assigned to it."""
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.annotation)
    annotation = parameters.get(ast.unparse(node.value))
    return "" if annotation is None else ast.unparse(annotation)


def abouts(body: Sequence[ast.stmt]) -> dict[str, str]:
    """Return the string after each assignment, by its target."""
    found = {}
    for node, after in itertools.pairwise(body):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[_target(node)] = inspect.cleandoc(str(after.value.value))
    return found


def _target(node: ast.Assign | ast.AnnAssign) -> str:
    return ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)


@functools.cache
def _definition(cls: type) -> ast.ClassDef:
    """Return the source of a class."""
    module = inspect.getmodule(cls)
    assert module is not None
    name = cls.__qualname__
    return next(node for node in parsed(module.__name__).body if isinstance(node, ast.ClassDef) and node.name == name)


@functools.cache
def parsed(module: str) -> ast.Module:
    """Return the source of a module."""
    return ast.parse(inspect.getsource(sys.modules.get(module) or importlib.import_module(module)))


def aliases(module: str, names: Iterable[str]) -> dict[str, str]:
    """Return the types that names in a module stand for, without those of classes."""
    found = {}
    for name in names:
        for node in ast.walk(parsed(module)):
            if isinstance(node, ast.Assign) and _target(node) == name:
                found[name] = ast.unparse(node.value)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ticketlab.") and name in _imported(node):
                found |= aliases(str(node.module), [name])
    return found


def _imported(node: ast.ImportFrom) -> list[str]:
    return [alias.asname or alias.name for alias in node.names]
