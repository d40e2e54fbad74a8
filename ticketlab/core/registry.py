"""The registry: finds a component by kind and name among those that plugins have registered.

One registry is in use at a time, and :func:`current` returns it. It is global because components are built wherever a setting names one:
the converters of attrs classes, which turn ``"freelb"`` or a table into a component, receive nothing but the value, and a recipe, a
plugin or ``FreeLB(...)`` in a notebook must all resolve names in the same way. Passing a registry to some callers only would let
names be looked up in one registry and built from another. The command line sets it once from ``--plugin`` and the installed packages,
:func:`load_plugins` does so from Python, and tests use :func:`using`.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import define, field

from ticketlab.core import builtin_components, component
from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError, SettingError, UsageError, did_you_mean
from ticketlab.core.files import expand
from ticketlab.core.hookspecs import HOOK_OF_KIND
from ticketlab.core.plugin_api import API_VERSION
from ticketlab.core.plugin_loading import ENTRY_POINTS, RECIPE, Entry, LoadedPlugins, Problem, advice, clash, source_of
from ticketlab.core.plugin_selection import OFF, PluginSelection, off_in_environment
from ticketlab.core.plugin_source import BUILT_IN, HASHED, Source, canonical


def reason_absent(kind: str, name: str) -> str | None:
    """Return why no component has a well-known name; None for any other name."""
    return builtin_components.REFUSED.get((kind, name.lower().replace("-", "").replace("_", "")))


@define
class Registry(LoadedPlugins):
    """What is registered. Make one with :func:`load`.

    A component is found by its name, or by ``PACKAGE:NAME`` with the name of the plugin that registers it. A built-in component has its
    name alone, also if a plugin has one of the same name.
    """

    selection: PluginSelection = field(factory=PluginSelection)
    """The plugins that were to be loaded."""
    shown: set[Problem] = field(factory=set)
    """The problems that the user has seen as warnings."""
    _digests: dict[Source, str] = field(factory=dict)
    _imported: set[str] = field(factory=set)

    def by_kind(self) -> Mapping[str, list[Entry]]:
        """Return every entry of a component, grouped by kind, names sorted."""
        found: dict[str, list[Entry]] = {kind: [] for kind in HOOK_OF_KIND}
        for (kind, _), entries in sorted(self.registered.items()):
            found.get(kind, []).extend(entries)
        return {kind: entries for kind, entries in found.items() if entries}

    def names(self, kind: str) -> list[str]:
        """Return the names by which the components of a kind are found, sorted."""
        found = (entries for (known_kind, _), entries in self.registered.items() if known_kind == kind)
        return sorted({self.name_of(entry) for entries in found for entry in entries})

    def knows(self, kind: str, name: str) -> bool:
        """Return whether a component is registered under a name, which may be ``PACKAGE:NAME`` or ``NAME:VALUE``."""
        first, _, rest = name.partition(":")
        return (kind, first) in self.registered or bool(self._of_package(kind, first, rest.partition(":")[0]))

    def name_of(self, entry: Entry) -> str:
        """Return the shortest name by which an entry is found: its own, or ``PACKAGE:NAME`` if others have that name too."""
        entries = self.registered[entry.kind, entry.name]
        first = len(entries) == 1 or (entries[0].source.is_built_in and entry == entries[0])
        return entry.name if first else entry.qualified

    def entry(self, kind: str, name: str) -> Entry:
        """Return the entry of a component. In ``NAME:VALUE`` the name is the part before the colon.

        :raises SettingError: there is no such component; the message suggests the nearest name.
        :raises PluginError: two plugins claim the name.
        """
        return self._find(kind, name)[0]

    def find(self, kind: str, name: str) -> Entry | None:
        """Return :meth:`entry`, or None if nothing is registered under the name."""
        return self.entry(kind, name) if self.knows(kind, name) else None

    def get(self, kind: str, name: str) -> type[Component]:
        """Return the class of a component, importing it if needed. Raises the errors of :meth:`entry` and :meth:`Entry.load`.

        :raises SettingError: the name is ``NAME:VALUE``, and the component has no variants.
        """
        entry, value = self._find(kind, name)
        cls = entry.load()
        self._remember_code(entry)
        if value is not None and not cls.variant:
            raise SettingError(f"{kind} `{cls.name}` has no variants: omit `:{value}`")
        return cls

    def split(self, kind: str, name: str) -> tuple[str, str | None]:
        """Return the two parts of ``NAME:VALUE``, of which NAME may be ``PACKAGE:NAME``. The value is None if there is none."""
        value = self._find(kind, name)[1]
        return (name, None) if value is None else (name.removesuffix(f":{value}"), value)

    @property
    def recipes(self) -> dict[str, tuple[Path, Source]]:
        """The file and the source of each recipe, by the name that finds it."""
        entries = [entry for (kind, _), entries in self.registered.items() if kind == RECIPE for entry in entries]
        return {self.name_of(entry): (Path(str(entry.target)), entry.source) for entry in entries}

    def recipe(self, name: str) -> Path:
        """Return the file of a registered recipe. Raises the errors of :meth:`entry`."""
        return Path(str(self.entry(RECIPE, name).target))

    def entry_of(self, cls: type[Component]) -> Entry | None:
        """Return the entry of a class; None if it is not registered, whatever its name is."""
        kind, name = getattr(cls, "kind", ""), getattr(cls, "name", "")
        entries = self.registered.get((kind, name), ()) if isinstance(name, str) else ()
        same = (cls, f"{cls.__module__}:{cls.__qualname__}")
        return next((entry for entry in entries if entry.target in same or entry.loads(cls)), None)

    def name_of_class(self, cls: type[Component]) -> str:
        """Return the shortest name by which a class is found; its own name if it is not registered."""
        entry = self.entry_of(cls)
        return cls.name if entry is None else self.name_of(entry)

    def source(self, component: Component) -> Source:
        """Return where a component comes from. The source of a class that is not registered is its module."""
        found = self.entry_of(type(component))
        if found is not None:
            return found.source
        from ticketlab.core.unregistered_class import source_of_class

        return source_of_class(type(component))

    def version(self, component: Component) -> str:
        """Return the version of a component's code that is part of stage keys: with that of other plugins that it uses.

        These are the plugins whose components it extends, and whose modules it names.

        :raises UsageError: a module that it names is in no loaded plugin.
        """
        from ticketlab.core import plugin_modules  # not imported where plugins are only listed

        bases = [entry.source for base in type(component).__mro__[1:] if issubclass(base, Component) and (entry := self.entry_of(base))]
        named = [plugin_modules.find(name, self).source for name in component.plugin_modules]
        sources = dict.fromkeys([self.source(component), *(source for source in bases if not source.is_built_in), *named])
        return f"{' '.join(map(self.version_of, sources))}/{component.version}"

    def version_of(self, source: Source) -> str:
        """Return the version of a plugin with the hash of its code. It stays the same, since code that was imported does."""
        if source.is_built_in or source.version.startswith(HASHED):
            return source.version
        if source not in self._digests:
            self._digests[source] = f"{source.version} {self._digest_of(source)}".strip()
        return self._digests[source]

    def _remember_code(self, entry: Entry) -> None:
        """Hash the files of a plugin when a module of it has been imported: later they may be those of other code than is in memory."""
        if entry.source.code.modules and entry.module not in self._imported:
            self._imported.add(entry.module)
            self._digest_of(entry.source)
            self.version_of(entry.source)

    def _digest_of(self, source: Source) -> str:
        from ticketlab.core import plugin_code

        files = self.files_of(source)
        return f"{HASHED}{plugin_code.digest(files)}" if files else ""

    def files_of(self, source: Source) -> list[Path]:
        """Return the files that the components of a plugin are imported from."""
        own = {entry.module for entries in self.registered.values() for entry in entries if entry.source == source and entry.kind != RECIPE}
        from ticketlab.core import plugin_code  # not imported where plugins are only listed

        return plugin_code.files_of(source.code, own if source.code.modules else ())

    def _find(self, kind: str, name: str) -> tuple[Entry, str | None]:
        """Return the entry, and the value of ``NAME:VALUE`` or ``PACKAGE:NAME:VALUE``, None if there is none."""
        first, colon, rest = name.partition(":")
        base, inner, value = rest.partition(":")
        own = self._of_package(kind, first, base)
        named = self.registered.get((kind, first), ())
        if own and named and kind != RECIPE and named[0].load().variant:
            raise SettingError(
                f"`{name}` is both the {kind} `{base}` of {own[0].source.label} and a variant of `{first}`: write "
                f"`{named[0].qualified}:{rest}` for the variant; to use the other, rename `{own[0].source.name}`"
            )
        if own:
            return self._only(own), value if inner else None
        if named:
            return self._only(named if not named[0].source.is_built_in else named[:1]), rest if colon else None
        source = next((source for source in self.sources if colon and source.is_called(first)), None)
        if source is not None:
            of_package = {
                key[1] for key, entries in self.registered.items() if key[0] == kind for entry in entries if entry.source == source
            }
            raise SettingError(f"{source.label} has no {kind} `{base}`{did_you_mean(base, of_package)}")
        raise SettingError(self._unknown(kind, first))

    def _unknown(self, kind: str, name: str) -> str:
        if (reason := reason_absent(kind, name)) is not None:
            return reason
        problems = [problem for problem in self.problems if not problem.name]
        broken = "".join(f" ({problem.message})" for problem in problems if problem not in self.shown)
        shown = dict.fromkeys(problem.source for problem in problems if problem in self.shown)
        broken += f" (see the warnings about {', '.join(shown)})" if shown else ""
        off = "".join(f" ({source.label} is switched off)" for source in self.off)
        return f"unknown {kind} `{name}`{did_you_mean(name, self.names(kind))}{broken}{off}"

    def _of_package(self, kind: str, package: str, name: str) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.registered.get((kind, name), ()) if entry.source.is_called(package))

    @staticmethod
    def _only(entries: tuple[Entry, ...]) -> Entry:
        if len(entries) > 1:
            raise PluginError(f"{clash(entries)}; {advice(entries)}")
        return entries[0]


def load(files: Sequence[str | Path] = (), *, entry_points: bool = True, off: Sequence[str] = ()) -> Registry:
    """Make a registry of the built-ins, the installed plugins (unless ``entry_points`` is False) and plugin ``files``, or folders.

    Plugins that are named in ``off`` or in the environment variable ``TICKETLAB_NO_PLUGIN`` are not imported.

    :raises UsageError: a plugin file is missing, or ``off`` names no plugin.
    :raises PluginError: anything is wrong with a plugin and ``TICKETLAB_STRICT_PLUGINS=1``.
    """
    places = {(place := expand(file)).resolve(): place for file in files}
    registry = Registry(selection=PluginSelection(tuple(map(str, places)), entry_points, tuple(off)))
    registry.register(builtin_components, Source("ticketlab", BUILT_IN, api=API_VERSION))
    points = [(source_of(point), point) for point in importlib.metadata.entry_points(group=ENTRY_POINTS)] if entry_points else []
    _check_off(registry, [source.name for source, _ in points])
    for source, point in points:
        if canonical(source.name) in map(canonical, (*off, *off_in_environment())):
            registry.off += [source] if source not in registry.off else []
        else:
            registry.load_entry_point(point)
    for file in places.values():
        registry.load_file(file)
    return registry


def load_selection(selection: PluginSelection) -> Registry:
    """Make a registry of the plugins that another process has loaded. Raises the errors of :func:`load`."""
    return load(selection.files, entry_points=selection.installed, off=selection.off)


def _check_off(registry: Registry, installed: Sequence[str]) -> None:
    """Refuse a plugin to switch off that is not installed; in the environment, which may be that of several installations, report it."""
    if not registry.selection.installed:
        return
    known = set(map(canonical, installed))
    for name in registry.selection.off:
        if canonical(name) not in known:
            raise UsageError(f"--no-plugin {name}: no such plugin is installed{did_you_mean(name, installed)}")
    for name in off_in_environment():
        if canonical(name) not in known:
            registry.report(Problem(OFF, f"{OFF}: no plugin `{name}` is installed{did_you_mean(name, installed)}", RECIPE, name))


def load_plugins(*files: str | Path) -> Registry:
    """Use plugin files, or folders of packages, from now on, in addition to the built-ins and the installed plugins.

    :raises UsageError: a file is missing.
    :raises PluginError: anything is wrong with a plugin and ``TICKETLAB_STRICT_PLUGINS=1``.
    """
    registry = load(files)
    use(registry)
    return registry


_current: Registry | None = None


def current() -> Registry:
    """Return the registry in use; the first call loads built-ins and installed plugins."""
    global _current
    if _current is None:
        _current = load()
    return _current


def is_loaded() -> bool:
    """Return whether a registry is in use already, so that :func:`current` loads nothing."""
    return _current is not None


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


component.find_name = lambda cls: current().name_of_class(cls)
