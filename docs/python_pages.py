"""The pages of the public Python names: what each is, its signature, and the members of classes."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import get_origin

from attrs import frozen
from markdown_text import prose, table
from members import Member, abouts, aliases, inherited, members, parsed
from signatures import bare_signature, call

import ticketlab
import ticketlab.figures
import ticketlab.plugin
import ticketlab.testing

PLUGIN_PAGE = "plugin.md"
HOOKIMPL = "A decorator that marks a function as the implementation of the hook of the same name; see [](hooks.md)."
KINDS = {
    "class attribute": "Class attributes",
    "field": "Fields",
    "attribute": "Attributes",
    "property": "Properties",
}
"""The headings of the members that are not methods."""


@frozen
class Group:
    """Names that are described together: those that the modules whose names begin with ``homes`` define. ``about`` is Markdown."""

    title: str
    homes: tuple[str, ...]
    about: str = ""


GROUPS = (
    Group("Components and settings", ("core.component", "core.settings", "core.hookspecs", "core.plugin_api"), "The hooks: [](hooks.md)."),
    Group("Trainings", ("core.callback", "training.", "inference.random_state"), "What all components of a training work with."),
    Group("Pruners", ("pruners.",), "How to write one: [](../howto/pruner.md)."),
    Group("Adversaries", ("adversaries.",), "How to write one: [](../howto/adversary.md)."),
    Group("Losses", ("losses.",), "How to write one: [](../howto/loss.md)."),
    Group("Objectives", ("objectives.",), "How to write one: [](../howto/objective.md)."),
    Group("Stop rules", ("stop_rules.",), "How to write one: [](../howto/stop_rule.md)."),
    Group("Bias models", ("bias_models.",), "How to write one: [](../howto/bias_model.md)."),
    Group("Attacks", ("attacks.", "inference.victim"), "How to write one: [](../howto/attack.md)."),
    Group("Resources of attacks", ("resources.",), "What attacks load once and share: [](../howto/attacks.md)."),
    Group("Tasks", ("tasks.",), "How to write one: [](../howto/task.md)."),
    Group("Metrics", ("metrics.",), "How to write one: [](../howto/metric.md)."),
    Group("Stages", ("stages.",), "How to write one: [](../howto/stage.md)."),
    Group("Executors", ("executors.",), "How to write one: [](../howto/executor.md)."),
    Group("Models", ("backbone.",), "How to add a family: [](../howto/model_family.md)."),
    Group("Tickets", ("tickets.",)),
    Group("Errors", ("core.errors",), "A component raises them for a user's mistake; the message is all that the user sees."),
)
OTHERS = Group("Other names", ("",))


def python_page(promise: str) -> str:
    """Return the page of the names for users, for tests of plugins and for transformers, after what is promised about all."""
    parts = [
        f"# Python\n\n{promise}",
        f"## ticketlab\n\n{prose(ticketlab.__doc__ or '')}",
        *sections(ticketlab, _public(ticketlab)),
        f"## ticketlab.plugin\n\n{prose(ticketlab.plugin.__doc__ or '')}\n\n{_index()}",
        f"## ticketlab.testing\n\n{prose(ticketlab.testing.__doc__ or '')}",
        *sections(ticketlab.testing, _public(ticketlab.testing)),
        f"## ticketlab.auto\n\n{prose(importlib.import_module('ticketlab.auto').__doc__ or '')}",
        f"## ticketlab.figures\n\n{prose(ticketlab.figures.__doc__ or '')}",
        *sections(ticketlab.figures, (name for name in _public(ticketlab.figures) if inspect.isfunction(getattr(ticketlab.figures, name)))),
    ]
    return "\n\n".join(parts)


def plugin_page() -> str:
    """Return the page of the names for authors of plugins, by what they are for."""
    shared = listed([f"[{name}](python.md#{name.lower()})" for name in _shared()])
    intro = f"The names of `ticketlab.plugin`, by the kind of component that they are for. It also has {shared} of `ticketlab`."
    parts = [f"# Python: ticketlab.plugin\n\n{intro}"]
    for group, names in grouped().items():
        parts.append(f"## {group.title}" + (f"\n\n{group.about}" if group.about else ""))
        parts += sections(ticketlab.plugin, names)
    return "\n\n".join(parts)


def grouped() -> Mapping[Group, list[str]]:
    """Return the names of ``ticketlab.plugin`` that ``ticketlab`` lacks, by group; base classes of components first."""
    found: dict[Group, list[str]] = {group: [] for group in (*GROUPS, OTHERS)}
    for name in _public(ticketlab.plugin):
        if name not in ticketlab.__all__:
            home = _home(ticketlab.plugin, name).removeprefix("ticketlab.")
            found[next((group for group in GROUPS if home.startswith(group.homes)), OTHERS)].append(name)
    return {group: sorted(names, key=_order) for group, names in found.items() if names}


def _order(name: str) -> tuple[bool, bool, str]:
    public = getattr(ticketlab.plugin, name)
    return "kind" not in vars(public) if inspect.isclass(public) else True, not inspect.isclass(public), name.lower()


def _index() -> str:
    rows = [
        (group.title, ", ".join(f"[`{name}`]({PLUGIN_PAGE}#{_anchor(group, name)})" for name in names))
        for group, names in grouped().items()
    ]
    return f"{table(('For', 'Names'), rows)}\n\nIt also has {listed([f'`{name}`' for name in _shared()])} of `ticketlab`."


def _anchor(group: Group, name: str) -> str:
    """Return the anchor of a name on its page: of two headings that differ only in case, the later one has a number."""
    return f"{name.lower()}-1" if name == "component" else name.lower()


def _shared() -> list[str]:
    return [name for name in _public(ticketlab.plugin) if name in ticketlab.__all__]


def _public(module: ModuleType) -> list[str]:
    return [name for name in module.__all__ if not name.startswith("__")]


def public_classes(modules: Sequence[ModuleType] = (ticketlab, ticketlab.plugin)) -> list[type]:
    """Return the classes of public modules."""
    named = [getattr(module, name) for module in modules for name in _public(module)]
    return list(dict.fromkeys(public for public in named if inspect.isclass(public)))


def sections(module: ModuleType, names: Iterable[str]) -> Iterator[str]:
    """Yield the section of each public name of a module."""
    for name in names:
        public = getattr(module, name)
        if name == "hookimpl":
            yield f"### {name}\n\n{HOOKIMPL}"
        elif inspect.isclass(public):
            yield f"### {name}\n\n{class_section(name, public)}"
        elif get_origin(public) is not None:  # an alias of a type
            stands_for = aliases(_home(module, name), [name])[name]
            yield f"### {name}\n\n```python\n{name} = {stands_for}\n```\n\n{prose(_about_constant(module, name))}"
        elif callable(public):
            yield f"### {name}\n\n```python\n{call(name, public)}\n```\n\n{prose(public.__doc__ or '')}"
        else:
            yield f"### {name}\n\n```python\n{name} = {json.dumps(public)}\n```\n\n{prose(_about_constant(module, name))}"


def class_section(name: str, cls: type) -> str:
    """Return what a class is, what it inherits, and its members."""
    public = public_classes((ticketlab, ticketlab.plugin, ticketlab.testing))
    found = [member for member in members(cls, public) if member.about]
    parts = [f"```python\n{call(name, cls)}\n```"] if "__init__" in vars(cls) and inspect.signature(cls).parameters else []
    parts.append(prose(cls.__dict__.get("__doc__") or ""))
    parts += [
        f"Inherits from {_link(base)}: {', '.join(f'`{member}`' for member in names)}." for base, names in inherited(cls, public).items()
    ]
    for kind, title in KINDS.items():
        items = [_item(member) for member in found if member.kind == kind]
        parts += [f"**{title}**", "\n".join(items)] if items else []
    if types := _types(found):
        parts.append(" ".join(f"`{alias}` is `{meaning}`." for alias, meaning in sorted(types.items())))
    methods = [member for member in found if member.kind == "method" and not member.name.startswith(("test_", "pytest_"))]
    parts += ["**Methods**"] if methods else []
    parts += [_method(name, member) for member in methods]
    tests = [_item(member) for member in found if member.name.startswith("test_")]
    parts += ["**Tests**", "\n".join(tests)] if tests else []
    return "\n\n".join(filter(None, parts))


def _types(found: Sequence[Member]) -> dict[str, str]:
    """Return what the names of types in the annotations of members stand for."""
    types: dict[str, str] = {}
    for member in found:
        text = member.type or str(bare_signature(member.function) if member.function else "")
        types |= aliases(member.owner.__module__, re.findall(r"\b[A-Z]\w+", text))
    return types


def _item(member: Member) -> str:
    """Return an attribute as an item of a list: its name, type, default and meaning."""
    type_, default = (f": {member.type}" if member.type else ""), (f" = {member.default}" if member.default else "")
    first, *more = prose(member.about).split("\n")
    lines = [f"- `{member.name}{type_}{default}`: {first}".rstrip(": "), *(f"  {line}".rstrip() for line in more)]
    return "\n".join(lines)


def _method(name: str, member: Member) -> str:
    return f"```python\n{call(qualified(name, member), member.function)}\n```\n\n{prose(member.about)}".rstrip()


def qualified(name: str, method: Member) -> str:
    """Return the name of a method of the class ``name`` in its signature."""
    return f"{name}()" if method.name == "__call__" else f"{name}.{method.name}"


def _link(cls: type) -> str:
    """Return a link to the section of a public class."""
    if cls.__name__ in (*ticketlab.__all__, *ticketlab.testing.__all__):
        return f"[{cls.__name__}](python.md#{cls.__name__.lower()})"
    return f"[{cls.__name__}]({PLUGIN_PAGE}#{cls.__name__.lower()})"


def _about_constant(module: ModuleType, name: str) -> str:
    """Return the string after the definition of a constant."""
    return abouts(parsed(_home(module, name)).body).get(name, "")


def _home(module: ModuleType, name: str) -> str:
    home: str = getattr(module, "_EXPORTS", {}).get(name) or getattr(module, name).__module__
    return home


def listed(names: Sequence[str]) -> str:
    """Return names, the last after "and"."""
    return ", ".join(names[:-1]) + f" and {names[-1]}"
