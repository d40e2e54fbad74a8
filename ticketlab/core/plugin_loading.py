"""Loads plugins one by one and collects what their hooks return.

A plugin that does not load, an unknown hook or a name taken twice is a :class:`Problem`. It is a warning when the plugin is loaded and an
error when the name is used. With ``TICKETLAB_STRICT_PLUGINS=1`` it is an error at once.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pluggy
from attrs import define, evolve, field, frozen

from ticketlab.core import debugging, hookspecs, plugin_api
from ticketlab.core.component import Component
from ticketlab.core.component_class import check_component_class
from ticketlab.core.errors import PluginError, UsageError, did_you_mean
from ticketlab.core.hookspecs import HOOK_OF_KIND, Lazy
from ticketlab.core.plugin_source import BUILT_IN as BUILT_IN
from ticketlab.core.plugin_source import FIRST_API, HASHED, PluginCode, Source

ENTRY_POINTS = "ticketlab"
RECIPE = "recipe"
"""The kind of the entries of recipes, which are files and not components."""
LONGEST_NAME = 80
NAME = re.compile(rf"(?!\d+$)\w[\w.+-]{{0,{LONGEST_NAME - 1}}}")
BROKEN = (Exception, SystemExit)
"""What a plugin may raise in a run without ending the command."""


@frozen
class Entry:
    """One registered component, imported or not; or a recipe, whose target is the path of its file."""

    kind: str
    name: str
    summary: str
    source: Source
    target: type[Component] | str
    hook: Callable[..., Any] | None = field(default=None, eq=False, repr=False)
    """The function of the plugin that returned it."""

    @property
    def module(self) -> str:
        """The module that the component is in."""
        return self.target.__module__ if isinstance(self.target, type) else self.target.partition(":")[0]

    @property
    def qualified(self) -> str:
        """The name with that of the plugin, ``PACKAGE:NAME``."""
        return f"{self.source.name}:{self.name}"

    def loads(self, cls: type[Component]) -> bool:
        """Return whether the target is this class under another name of its module; one that does not import is another."""
        try:
            return self.kind != RECIPE and self.load() is cls
        except PluginError:
            return False

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
            why = described(problem, self.source)
            raise PluginError(f"{self.kind} `{self.name}` of {self.source.label} does not import: {why}") from problem
        if not (isinstance(cls, type) and issubclass(cls, Component) and cls.kind == self.kind and cls.name == self.name):
            raise PluginError(f"{self.target} of {self.source.label} is not the {self.kind} `{self.name}` it is registered as")
        try:
            check_component_class(cls)
        except TypeError as problem:
            raise PluginError(f"{self.kind} `{self.name}` of {self.source.label} cannot be used: {problem}") from None
        return cls


@frozen
class Problem:
    """Something wrong with a plugin. ``kind`` and ``name`` are those of a component or recipe that cannot be used because of it."""

    source: str
    message: str
    kind: str = ""
    name: str = ""


def described(problem: BaseException, source: Source | None) -> str:
    """Return an error of a plugin in one line, with the place in the plugin's own code where it was raised."""
    from ticketlab.core import missing_imports, plugin_code, plugin_frames  # not imported where plugins are only listed

    what = plugin_frames.describe(problem, plugin_code.files_of(source.code) if source is not None else ())
    if isinstance(problem, SyntaxError) and problem.filename is None and source is not None:  # null bytes
        what += f" ({', '.join([*source.code.modules, *(place.name for place in source.code.places)])})"
    return f"{what}{missing_imports.advice(problem, source)}"


def _hook_manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(ENTRY_POINTS)
    manager.add_hookspecs(hookspecs)
    return manager


def source_of(point: importlib.metadata.EntryPoint) -> Source:
    """Return the source of an installed plugin, without importing it."""
    package, code = point.dist, PluginCode(modules=(point.module,), distribution=point.dist)
    if package is None:
        return Source(point.value, "", point.name, code)
    return Source(f"{package.name} {package.version}", f"{package.name}=={package.version}", package.name, code)


def clash(entries: Sequence[Entry]) -> str:
    """Return what is wrong with several entries of one kind and name."""
    *others, last = dict.fromkeys(entry.source.label for entry in entries)
    by = f"both {', '.join(others)} and {last}" if others else f"{last} twice"
    return f"the {entries[0].kind} `{entries[0].name}` is registered by {by}"


def advice(entries: Sequence[Entry]) -> str:
    """Return how to choose among several entries of one kind and name, a built-in one first."""
    if not all(_is_called_alone(entry, entries) for entry in entries):
        return "rename one, or the file or package that it is in"
    names = " or ".join(f"`{entry.qualified}`" for entry in entries if not entry.source.is_built_in)
    if entries[0].source.is_built_in:
        return f"`{entries[0].name}` is that of {entries[0].source.label}, write {names} for the other"
    return f"write {names}"


def _is_called_alone(entry: Entry, entries: Sequence[Entry]) -> bool:
    return sum(other.source.is_called(entry.source.name) for other in entries) == 1


@define
class LoadedPlugins:
    """What the plugins loaded so far have registered."""

    registered: dict[tuple[str, str], tuple[Entry, ...]] = field(factory=dict)
    """The components of each kind and name, and the recipes as the kind ``recipe``; a built-in one first, then in the order of loading."""
    sources: list[Source] = field(factory=list)
    off: list[Source] = field(factory=list)
    """The plugins that were found and are switched off."""
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
                self.report(
                    Problem(source.label, f"{source.label} has an unknown hook `{name}`{did_you_mean(name, known)}{_at(plugin, name)}")
                )
            elif self.manager.parse_hookimpl_opts(plugin, name) is None:
                message = f"`{name}` of {source.label} is not called: mark it with @ticketlab.plugin.hookimpl{_at(plugin, name)}"
                self.report(Problem(source.label, message))
        try:
            self.manager.register(plugin, None if self.manager.has_plugin(source.label) else source.label)
            found = [entry for kind, hook in HOOK_OF_KIND.items() for entry in self._components(plugin, kind, hook, source)]
            named = dict(self._call(plugin, "ticketlab_recipes") or {})
            hook = getattr(plugin, "ticketlab_recipes", None)
            found += [Entry(RECIPE, _valid_name(RECIPE, name), "", source, str(Path(path)), hook) for name, path in named.items()]
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # such as that of pytest.skip
            with contextlib.suppress(Exception):
                self.manager.unregister(plugin)
            self._report_broken(source, problem)
            return
        self.sources.append(source)
        for entry in found:
            self._add(entry)

    def unregister(self, plugin: Any, source: Source) -> None:
        """Remove what :meth:`register` added."""
        self.manager.unregister(plugin)
        self.sources.remove(source)
        left = {key: tuple(entry for entry in entries if entry.source != source) for key, entries in self.registered.items()}
        self.registered = {key: entries for key, entries in left.items() if entries}
        self.problems = [problem for problem in self.problems if problem.source != source.label]

    def listens(self, hook: str) -> bool:
        """Return whether any plugin has this hook."""
        return bool(getattr(self.manager.hook, hook).get_hookimpls())

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a life-cycle hook of every plugin with a copy of the arguments; one that raises is a problem and not called again."""
        for implementation in list(getattr(self.manager.hook, hook).get_hookimpls()):
            try:
                implementation.function(**copy.deepcopy({name: arguments[name] for name in implementation.argnames}))
            except BROKEN as problem:
                self.manager.unregister(implementation.plugin)
                name = implementation.plugin_name
                source = next((source for source in self.sources if source.label == name), None)
                debugging.print_traceback(problem)
                self.report(Problem(name, f"{hook} of {name}: {described(problem, source)}"))

    def load_entry_point(self, point: importlib.metadata.EntryPoint) -> None:
        """Load and register the plugin of an installed package."""
        source = source_of(point)
        try:
            stated = plugin_api.of_module(point.module)
            source = evolve(source, api=stated or FIRST_API)
            plugin_api.check(source.api)
            plugin = point.load()
            plugin_api.check_imported(sys.modules.get(point.module), stated)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # such as that of pytest.skip
            self._report_broken(source, problem)
            return
        self.register(plugin, source)

    def load_file(self, file: Path) -> None:
        """Load and register a plugin file, or the folder of a package.

        :raises UsageError: there is no such file or folder, or it is not Python.
        """
        from ticketlab.core import plugin_code, plugin_files  # not imported where no file is named

        if not file.exists():
            raise UsageError(f"--plugin {file}: there is no such file")
        if not plugin_files.is_plugin(file):
            inside = next((found.parent for found in sorted(file.glob(f"src/*/{plugin_files.INIT}"))), None)
            hint = f"; did you mean `{inside}`?" if inside else ""
            raise UsageError(f"--plugin {file}: not a Python file, and not a folder with `{plugin_files.INIT}`{hint}")
        place = file.resolve()
        place = place.parent if place.name == plugin_files.INIT else place
        code = PluginCode(places=(place,))
        digest = plugin_code.digest(plugin_code.files_of(code, imported=False), imported=False)
        source = Source(str(file), f"{HASHED}{digest}", place.stem.replace(".", "-"), code)
        try:
            source = evolve(source, api=plugin_api.of_file(place / plugin_files.INIT if place.is_dir() else place))
            plugin_api.check(source.api)
            module = plugin_files.load(place, hashlib.sha256(f"{place} {digest}".encode()).hexdigest()[:12])
            plugin_api.check_imported(module, source.api)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # such as that of pytest.skip
            self._report_broken(source, problem)
            return
        self.register(module, source)

    def _report_broken(self, source: Source, problem: BaseException) -> None:
        debugging.print_traceback(problem)
        why = str(problem) if isinstance(problem, PluginError) else described(problem, source)
        self.report(Problem(source.label, f"{source.label} does not load: {why}"))

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
                target = _own_target(plugin, item.target) if source.code.places else item.target
                yield Entry(kind, _valid_name(kind, item.name), _valid_summary(item.summary), source, target, getattr(plugin, hook))
            elif isinstance(item, type) and issubclass(item, Component) and item.kind == kind:
                check_component_class(item)
                yield Entry(kind, _valid_name(kind, item.name), _valid_summary(item.summary), source, item, getattr(plugin, hook))
            else:
                raise TypeError(f"{hook} returned {item!r}, which is neither a class of kind {kind} nor a Lazy reference")

    def _add(self, entry: Entry) -> None:
        key = (entry.kind, entry.name)
        taken = self.registered.get(key, ())
        if any(other.source.name == entry.source.name and other.target == entry.target for other in taken):
            return  # two entry points of one package
        self.registered[key] = (*taken, entry)
        if taken:
            place = _in_parentheses(entry.target if isinstance(entry.target, type) else entry.hook)
            message = f"{clash(self.registered[key])}; {advice(self.registered[key])}{place}"
            self.report(Problem(entry.source.label, message, entry.kind, entry.name))

    def report(self, problem: Problem) -> None:
        """Keep a problem.

        :raises PluginError: ``TICKETLAB_STRICT_PLUGINS=1``.
        """
        if os.environ.get("TICKETLAB_STRICT_PLUGINS") == "1":
            raise PluginError(problem.message)
        self.problems.append(problem)


def _at(plugin: Any, name: str) -> str:
    return _in_parentheses(getattr(plugin, name, None))


def _in_parentheses(thing: Any) -> str:
    """Return where a class or function is defined, in parentheses; an empty string if that cannot be read."""
    from ticketlab.core.plugin_frames import place_of  # needed for messages alone

    place = place_of(thing)
    return f" ({place})" if place else ""


def _own_target(plugin: Any, target: str) -> str:
    """Return the target of a lazy reference of a plugin file or folder, with the name under which its module is imported."""
    from ticketlab.core import plugin_files

    module, colon, attribute = target.partition(":")
    return f"{plugin_files.full_name(plugin, module)}{colon}{attribute}"


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
