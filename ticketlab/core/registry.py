"""The registry: loads plugins one by one and finds a component by kind and name.

A broken plugin, a hook nobody knows or a name taken twice is a :class:`Problem`: a warning when it is found, an error when the
name is used, and an error at once when ``TICKETLAB_STRICT_PLUGINS=1``.
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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pluggy
from attrs import define, field, frozen

from ticketlab.core import builtin_components, hookspecs
from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError, SettingError, UsageError, did_you_mean
from ticketlab.core.files import expand
from ticketlab.core.hookspecs import Lazy

ENTRY_POINTS = "ticketlab"
HOOK_OF_KIND = {
    "pruner": "ticketlab_pruners",
    "adversary": "ticketlab_adversaries",
    "loss": "ticketlab_losses",
    "bias model": "ticketlab_bias_models",
    "attack": "ticketlab_attacks",
    "task": "ticketlab_tasks",
    "objective": "ticketlab_objectives",
    "stop rule": "ticketlab_stop_rules",
    "backbone": "ticketlab_backbones",
    "executor": "ticketlab_executors",
}

LONGEST, LONGEST_MESSAGE = 80, 500
NAME = re.compile(rf"(?!\d+$)\w[\w.+-]{{0,{LONGEST - 1}}}")
BROKEN = (Exception, SystemExit)
"""What a plugin may raise without taking the command line with it."""


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

        :raises PluginError: the import fails, or what it finds is not a component of this kind and name.
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
    """Something wrong with a plugin, kept until somebody asks for what it would have brought."""

    source: str
    message: str
    kind: str = ""
    name: str = ""


def _oneline(problem: BaseException) -> str:
    words = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {words if len(words) <= LONGEST_MESSAGE else f'{words[:LONGEST_MESSAGE]}...'}"


def reason_absent(kind: str, name: str) -> str | None:
    """Return why there is no component of a well-known name; None for any other name."""
    return builtin_components.REFUSED.get((kind, name.lower().replace("-", "").replace("_", "")))


@define
class Registry:
    """What is registered. Make one with :func:`load`."""

    entries: dict[tuple[str, str], Entry] = field(factory=dict)
    recipes: dict[str, tuple[Path, Source]] = field(factory=dict)
    sources: list[Source] = field(factory=list)
    problems: list[Problem] = field(factory=list)
    manager: pluggy.PluginManager = field(factory=lambda: pluggy.PluginManager(ENTRY_POINTS))

    def names(self, kind: str) -> list[str]:
        """Return the registered names of a kind, sorted."""
        return sorted(name for known_kind, name in self.entries if known_kind == kind)

    def entry(self, kind: str, name: str) -> Entry:
        """Return the entry of a component. In ``NAME:VALUE`` the name is what comes before the colon.

        :raises SettingError: there is none of this name; the message names the nearest.
        :raises PluginError: two plugins claim the name.
        """
        name, _ = self.split(kind, name)
        self._refuse_taken(kind, name)
        found = self.entries.get((kind, name))
        if found is None:
            if (reason := reason_absent(kind, name)) is not None:
                raise SettingError(reason)
            broken = "".join(f" ({problem.message})" for problem in self.problems if not problem.name)
            raise SettingError(f"there is no {kind} `{name}`{did_you_mean(name, self.names(kind))}{broken}")
        return found

    def get(self, kind: str, name: str) -> type[Component]:
        """Return the class of a component, imported now if it was not yet. Raises as :meth:`entry` and :meth:`Entry.load`.

        :raises SettingError: the name is ``NAME:VALUE``, and the component has no variants.
        """
        cls = self.entry(kind, name).load()
        _, value = self.split(kind, name)
        if value is not None and not cls.variant:
            raise SettingError(f"{kind} `{cls.name}` has no variants: leave out `:{value}`")
        return cls

    def split(self, kind: str, name: str) -> tuple[str, str | None]:
        """Return the two parts of ``NAME:VALUE``; None for a value that is not there."""
        base, colon, value = name.partition(":")
        return (base, value) if colon and (kind, name) not in self.entries else (name, None)

    def recipe(self, name: str) -> Path:
        """Return the file of a registered recipe.

        :raises PluginError: two plugins claim the name.
        """
        self._refuse_taken("recipe", name)
        return self.recipes[name][0]

    def source(self, component: Component) -> Source:
        """Return where a component comes from."""
        found = self.entries.get((component.kind, component.name))
        return found.source if found else Source(type(component).__module__, "")

    def version(self, component: Component) -> str:
        """Return what identifies the code of a component in the keys of results."""
        return f"{self.source(component).version}/{component.version}"

    def register(self, plugin: Any, source: Source) -> None:
        """Add everything a plugin's hooks return; the same plugin again changes nothing.

        A failure becomes a :class:`Problem` and leaves the rest of the registry as it was.
        """
        if self.manager.is_registered(plugin):
            return
        known = {name for name in vars(hookspecs) if name.startswith("ticketlab_")}
        for name in (name for name in dir(plugin) if name.startswith("ticketlab_")):
            if name not in known:
                self._problem(Problem(source.label, f"{source.label} has a hook `{name}` that nobody knows{did_you_mean(name, known)}"))
            elif self.manager.parse_hookimpl_opts(plugin, name) is None:
                self._problem(Problem(source.label, f"`{name}` of {source.label} is not called: mark it with @ticketlab.plugin.hookimpl"))
        try:
            self.manager.register(plugin, None if self.manager.has_plugin(source.label) else source.label)
            found = [entry for kind, hook in HOOK_OF_KIND.items() for entry in self._components(plugin, kind, hook, source)]
            recipes = {_named("recipe", name): Path(path) for name, path in dict(self._call(plugin, "ticketlab_recipes") or {}).items()}
        except BROKEN as problem:
            with contextlib.suppress(Exception):
                self.manager.unregister(plugin)
            self._problem(Problem(source.label, f"{source.label} does not load: {_oneline(problem)}"))
            return
        self.sources.append(source)
        for entry in found:
            self._add(entry)
        for name, path in recipes.items():
            if name in self.recipes:
                other = self.recipes[name][1].label
                message = f"the recipe `{name}` is registered by both {other} and {source.label}"
                self._problem(Problem(source.label, message, "recipe", name))
            else:
                self.recipes[name] = (path, source)

    def unregister(self, plugin: Any, source: Source) -> None:
        """Take back what :meth:`register` added."""
        self.manager.unregister(plugin)
        self.sources.remove(source)
        self.entries = {key: entry for key, entry in self.entries.items() if entry.source != source}
        self.recipes = {name: recipe for name, recipe in self.recipes.items() if recipe[1] != source}
        self.problems = [problem for problem in self.problems if problem.source != source.label]

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a life-cycle hook of every plugin; one that raises becomes a problem once and is not called again."""
        for implementation in list(getattr(self.manager.hook, hook).get_hookimpls()):
            try:
                implementation.function(**{name: arguments[name] for name in implementation.argnames})
            except BROKEN as problem:
                self.manager.unregister(implementation.plugin)
                self._problem(Problem(implementation.plugin_name, f"{hook} of {implementation.plugin_name}: {_oneline(problem)}"))

    def _refuse_taken(self, kind: str, name: str) -> None:
        for problem in self.problems:
            if problem.kind == kind and problem.name == name:
                raise PluginError(f"{problem.message}; leave one of them out")

    def _call(self, plugin: Any, hook: str) -> Any:
        for implementation in getattr(self.manager.hook, hook).get_hookimpls():
            if implementation.plugin is plugin:
                return implementation.function()
        return None

    def _components(self, plugin: Any, kind: str, hook: str, source: Source) -> Iterator[Entry]:
        for item in self._call(plugin, hook) or ():
            if isinstance(item, Lazy):
                if not isinstance(item.target, str):
                    raise TypeError(f"the target of the {kind} `{item.name}` must be a text, not {item.target!r}")
                yield Entry(kind, _named(kind, item.name), _summary(item.summary), source, item.target)
            elif isinstance(item, type) and issubclass(item, Component) and item.kind == kind:
                yield Entry(kind, _named(kind, item.name), _summary(item.summary), source, item)
            else:
                raise TypeError(f"{hook} returned {item!r}, which is neither a class of kind {kind} nor a Lazy reference")

    def _add(self, entry: Entry) -> None:
        key = (entry.kind, entry.name)
        taken = self.entries.get(key)
        if taken is None:
            self.entries[key] = entry
            return
        message = f"the {entry.kind} `{entry.name}` is registered by both {taken.source.label} and {entry.source.label}"
        self._problem(Problem(entry.source.label, message, entry.kind, entry.name))

    def _problem(self, problem: Problem) -> None:
        if os.environ.get("TICKETLAB_STRICT_PLUGINS") == "1":
            raise PluginError(problem.message)
        self.problems.append(problem)


def _named(kind: str, name: object) -> str:
    """Return the name of a component or recipe, which stands in flags, in paths of settings and in names of files.

    :raises TypeError: it can be none.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        shown = repr(name) if len(repr(name)) <= LONGEST else f"{repr(name)[:LONGEST]}..."
        raise TypeError(
            f"a {kind} is called {shown}; a name is a text of 1 to {LONGEST} letters, digits and any of `_-.+`, not only digits"
        )
    return name


def _summary(summary: object) -> str:
    if not isinstance(summary, str):
        raise TypeError(f"a summary must be a text, not {summary!r}")
    return summary


def load(files: Sequence[str | Path] = (), *, entry_points: bool = True) -> Registry:
    """Make a registry of the built-ins, the installed plugins (unless ``entry_points`` is False) and plugin ``files``.

    :raises UsageError: a plugin file is missing.
    :raises PluginError: anything is wrong with a plugin and ``TICKETLAB_STRICT_PLUGINS=1``.
    """
    registry = Registry()
    registry.manager.add_hookspecs(hookspecs)
    registry.register(builtin_components, Source("ticketlab", "built-in"))
    if entry_points:
        for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
            _load_entry_point(registry, point)
    for file in {(place := expand(file)).resolve(): place for file in files}.values():
        _load_file(registry, file)
    return registry


def load_plugins(*files: str | Path) -> Registry:
    """Use plugin files from here on, beside the built-ins and the installed plugins: ``--plugin`` from Python. Raises as :func:`load`."""
    registry = load(files)
    use(registry)
    return registry


def _load_entry_point(registry: Registry, point: importlib.metadata.EntryPoint) -> None:
    package = point.dist
    source = Source(f"{package.name} {package.version}", f"{package.name}=={package.version}") if package else Source(point.value, "")
    try:
        plugin = point.load()
    except BROKEN as problem:
        registry._problem(Problem(source.label, f"{source.label} does not load: {_oneline(problem)}"))
        return
    registry.register(plugin, source)


def _load_file(registry: Registry, file: Path) -> None:
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
        registry._problem(Problem(source.label, f"{source.label} does not load: {_oneline(problem)}"))
        return
    registry.register(module, source)


_current: Registry | None = None


def current() -> Registry:
    """Return the registry in use; the first call loads built-ins and installed plugins."""
    global _current
    if _current is None:
        _current = load()
    return _current


def use(registry: Registry) -> None:
    """Make ``registry`` the one that :func:`current` returns."""
    global _current
    _current = registry


@contextlib.contextmanager
def using(registry: Registry) -> Iterator[Registry]:
    """Make ``registry`` current inside a with-block."""
    before = current()
    use(registry)
    try:
        yield registry
    finally:
        use(before)


def by_kind(registry: Registry) -> Mapping[str, list[Entry]]:
    """Return every entry, grouped by kind, names sorted."""
    return {kind: [registry.entries[kind, name] for name in registry.names(kind)] for kind in HOOK_OF_KIND if registry.names(kind)}
