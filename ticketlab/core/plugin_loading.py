"""Loads plugins one by one and collects what their hooks return.

A plugin that does not load, an unknown hook or a name taken twice is a :class:`Problem`. It is a warning when the plugin is loaded and an
error when the name is used. With ``TICKETLAB_STRICT_PLUGINS=1`` it is an error at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pluggy
from attrs import define, field, frozen

from ticketlab.core import hookspecs
from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError, UsageError, did_you_mean
from ticketlab.core.hookspecs import HOOK_OF_KIND, Lazy

ENTRY_POINTS = "ticketlab"
LONGEST_NAME, LONGEST_MESSAGE = 80, 500
NAME = re.compile(rf"(?!\d+$)\w[\w.+-]{{0,{LONGEST_NAME - 1}}}")
BROKEN = (Exception, SystemExit)
"""What a plugin may raise without ending the command."""


@frozen
class Source:
    """Where a component comes from. ``version`` goes into the keys of results."""

    label: str
    version: str


@frozen
class Entry:
    """One registered component, imported or not."""

    kind: str
    name: str
    summary: str
    source: Source
    target: type[Component] | str

    def load(self) -> type[Component]:
        """Import the class.

        :raises PluginError: the import fails, or the target is not a component of this kind and name.
        """
        if isinstance(self.target, type):
            return self.target
        module, _, attribute = self.target.partition(":")
        try:
            cls = getattr(importlib.import_module(module), attribute)
        except BROKEN as problem:
            raise PluginError(f"{self.kind} `{self.name}` of {self.source.label} does not import: {_oneline(problem)}") from problem
        if not (isinstance(cls, type) and issubclass(cls, Component) and cls.kind == self.kind and cls.name == self.name):
            raise PluginError(f"{self.target} of {self.source.label} is not the {self.kind} `{self.name}` it is registered as")
        return cls


@frozen
class Problem:
    """Something wrong with a plugin. ``kind`` and ``name`` are those of a component or recipe that cannot be used because of it."""

    source: str
    message: str
    kind: str = ""
    name: str = ""


def _oneline(problem: BaseException) -> str:
    words = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {words if len(words) <= LONGEST_MESSAGE else f'{words[:LONGEST_MESSAGE]}...'}"


def _hook_manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(ENTRY_POINTS)
    manager.add_hookspecs(hookspecs)
    return manager


@define
class LoadedPlugins:
    """What the plugins loaded so far have registered."""

    entries: dict[tuple[str, str], Entry] = field(factory=dict)
    recipes: dict[str, tuple[Path, Source]] = field(factory=dict)
    sources: list[Source] = field(factory=list)
    problems: list[Problem] = field(factory=list)
    manager: pluggy.PluginManager = field(factory=_hook_manager)

    def register(self, plugin: Any, source: Source) -> None:
        """Add everything that a plugin's hooks return. Registering a plugin again changes nothing.

        A failure becomes a :class:`Problem` and leaves the rest of the registry as it was.
        """
        if self.manager.is_registered(plugin):
            return
        known = {name for name in vars(hookspecs) if name.startswith("ticketlab_")}
        for name in (name for name in dir(plugin) if name.startswith("ticketlab_")):
            if name not in known:
                self.report(Problem(source.label, f"{source.label} has an unknown hook `{name}`{did_you_mean(name, known)}"))
            elif self.manager.parse_hookimpl_opts(plugin, name) is None:
                self.report(Problem(source.label, f"`{name}` of {source.label} is not called: mark it with @ticketlab.plugin.hookimpl"))
        try:
            self.manager.register(plugin, None if self.manager.has_plugin(source.label) else source.label)
            found = [entry for kind, hook in HOOK_OF_KIND.items() for entry in self._components(plugin, kind, hook, source)]
            named = dict(self._call(plugin, "ticketlab_recipes") or {})
            recipes = {_valid_name("recipe", name): Path(path) for name, path in named.items()}
        except BROKEN as problem:
            with contextlib.suppress(Exception):
                self.manager.unregister(plugin)
            self.report(Problem(source.label, f"{source.label} does not load: {_oneline(problem)}"))
            return
        self.sources.append(source)
        for entry in found:
            self._add(entry)
        for name, path in recipes.items():
            if name in self.recipes:
                other = self.recipes[name][1].label
                message = f"the recipe `{name}` is registered by both {other} and {source.label}"
                self.report(Problem(source.label, message, "recipe", name))
            else:
                self.recipes[name] = (path, source)

    def unregister(self, plugin: Any, source: Source) -> None:
        """Remove what :meth:`register` added."""
        self.manager.unregister(plugin)
        self.sources.remove(source)
        self.entries = {key: entry for key, entry in self.entries.items() if entry.source != source}
        self.recipes = {name: recipe for name, recipe in self.recipes.items() if recipe[1] != source}
        self.problems = [problem for problem in self.problems if problem.source != source.label]

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a life-cycle hook of every plugin; a plugin that raises is reported as a problem and not called again."""
        for implementation in list(getattr(self.manager.hook, hook).get_hookimpls()):
            try:
                implementation.function(**{name: arguments[name] for name in implementation.argnames})
            except BROKEN as problem:
                self.manager.unregister(implementation.plugin)
                self.report(Problem(implementation.plugin_name, f"{hook} of {implementation.plugin_name}: {_oneline(problem)}"))

    def load_entry_point(self, point: importlib.metadata.EntryPoint) -> None:
        """Load and register the plugin of an installed package."""
        package = point.dist
        source = Source(f"{package.name} {package.version}", f"{package.name}=={package.version}") if package else Source(point.value, "")
        try:
            plugin = point.load()
        except BROKEN as problem:
            self.report(Problem(source.label, f"{source.label} does not load: {_oneline(problem)}"))
            return
        self.register(plugin, source)

    def load_file(self, file: Path) -> None:
        """Load and register a plugin file.

        :raises UsageError: there is no such file, or it is not a Python file.
        """
        if not file.is_file():
            raise UsageError(f"--plugin {file}: there is no such file")
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        source = Source(str(file), f"sha256:{digest}")
        name = f"ticketlab_plugin_{file.stem}_{digest[:8]}"
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise UsageError(f"--plugin {file}: not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BROKEN as problem:
            del sys.modules[name]
            self.report(Problem(source.label, f"{source.label} does not load: {_oneline(problem)}"))
            return
        self.register(module, source)

    def _call(self, plugin: Any, hook: str) -> Any:
        for implementation in getattr(self.manager.hook, hook).get_hookimpls():
            if implementation.plugin is plugin:
                return implementation.function()
        return None

    def _components(self, plugin: Any, kind: str, hook: str, source: Source) -> Iterator[Entry]:
        for item in self._call(plugin, hook) or ():
            if isinstance(item, Lazy):
                if not isinstance(item.target, str):
                    raise TypeError(f"the target of the {kind} `{item.name}` must be a string, not {item.target!r}")
                yield Entry(kind, _valid_name(kind, item.name), _valid_summary(item.summary), source, item.target)
            elif isinstance(item, type) and issubclass(item, Component) and item.kind == kind:
                yield Entry(kind, _valid_name(kind, item.name), _valid_summary(item.summary), source, item)
            else:
                raise TypeError(f"{hook} returned {item!r}, which is neither a class of kind {kind} nor a Lazy reference")

    def _add(self, entry: Entry) -> None:
        key = (entry.kind, entry.name)
        taken = self.entries.get(key)
        if taken is None:
            self.entries[key] = entry
            return
        message = f"the {entry.kind} `{entry.name}` is registered by both {taken.source.label} and {entry.source.label}"
        self.report(Problem(entry.source.label, message, entry.kind, entry.name))

    def report(self, problem: Problem) -> None:
        """Keep a problem.

        :raises PluginError: ``TICKETLAB_STRICT_PLUGINS=1``.
        """
        if os.environ.get("TICKETLAB_STRICT_PLUGINS") == "1":
            raise PluginError(problem.message)
        self.problems.append(problem)


def _valid_name(kind: str, name: object) -> str:
    """Return the name of a component or recipe, which is used in flags, in paths of settings and in file names.

    :raises TypeError: the name is invalid.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        shown = repr(name) if len(repr(name)) <= LONGEST_NAME else f"{repr(name)[:LONGEST_NAME]}..."
        raise TypeError(
            f"invalid name {shown} of a {kind}; a name is a string of 1 to {LONGEST_NAME} letters, digits and any of `_-.+`, not all digits"
        )
    return name


def _valid_summary(summary: object) -> str:
    if not isinstance(summary, str):
        raise TypeError(f"a summary must be a string, not {summary!r}")
    return summary
